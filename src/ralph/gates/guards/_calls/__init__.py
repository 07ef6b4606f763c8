"""What did the calls of the checks show, beside what they answered?"""
