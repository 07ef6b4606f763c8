"""How is code broken on purpose, so that a check that means anything must turn red?"""
