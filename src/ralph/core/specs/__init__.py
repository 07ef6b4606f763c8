"""What does a spec ask for, is it clear enough, and which tests speak for it?"""
