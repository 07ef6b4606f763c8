"""How does a gate become a verdict, and a guard a result?"""
