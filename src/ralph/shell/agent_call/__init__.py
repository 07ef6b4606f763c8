"""How is an agent called, and what came of it?"""
