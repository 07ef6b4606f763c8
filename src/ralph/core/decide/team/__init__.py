"""Which role of a team is called before the work begins, and what its answer is worth?"""
