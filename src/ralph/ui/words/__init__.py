"""How does it look on a screen: errors, rows of lists, lines of JSON?"""
