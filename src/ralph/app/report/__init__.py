"""What does a report say?"""
