"""How does Ralph get into an agent's host, and out of it again without a trace?"""
