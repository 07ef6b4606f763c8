"""What is asked of and shown to a person before a loop starts?"""
