"""What does a loop know of its plan?"""
