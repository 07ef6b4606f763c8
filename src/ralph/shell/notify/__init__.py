"""How do people hear of a loop when they look elsewhere?"""
