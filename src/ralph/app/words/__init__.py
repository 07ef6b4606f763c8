"""How is it said: numbers, events, endings, next commands?"""
