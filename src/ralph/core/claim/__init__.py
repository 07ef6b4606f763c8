"""What does the agent say about its own work?"""
