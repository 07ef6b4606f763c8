"""Which tools are there for each language (one TOML file each), and what is a command for?"""
