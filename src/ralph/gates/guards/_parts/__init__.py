"""Which part of a file is its tests, and how are those of one version put into another?"""
