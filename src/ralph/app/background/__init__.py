"""How does a loop go on without its starter, and how is it watched from elsewhere?"""
