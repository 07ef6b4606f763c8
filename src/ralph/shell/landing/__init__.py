"""How does a result get into the user's branch, and out again?"""
