"""What judges, by what was seen to be read at the base?"""
