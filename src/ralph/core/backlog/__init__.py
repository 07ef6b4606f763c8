"""What is in a backlog, which item is next, and what may happen to one?"""
