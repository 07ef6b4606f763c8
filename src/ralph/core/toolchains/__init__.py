"""Which tools are there for each language, and what is a command for?"""
