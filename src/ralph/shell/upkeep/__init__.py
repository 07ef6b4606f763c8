"""Is this machine fit, and what can be removed?"""
