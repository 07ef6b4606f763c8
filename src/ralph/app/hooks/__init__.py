"""What does Ralph answer to a hook of an agent's host?"""
