"""What does a sentence ask for?"""
