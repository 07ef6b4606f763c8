"""Who works together in one loop, and what do they say of each other's work?"""
