"""How are trees, commits and refs made without touching the user's own checkout?"""
