"""What is an agent told?"""
