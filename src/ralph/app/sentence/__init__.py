"""What the words of a task or a sentence ask for: a route, a check, limits."""
