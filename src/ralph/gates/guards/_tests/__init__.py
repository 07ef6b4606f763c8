"""What does a test ask for, and was it weakened?"""
