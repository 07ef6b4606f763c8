"""Which files of the tree did a gate's processes read, and whose code asked for them?"""
