"""What does a signed proof state, and what must it not disclose?"""
