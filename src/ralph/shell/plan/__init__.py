"""How does a plan get into a call, and out of it again?"""
