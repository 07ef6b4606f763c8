"""What kind of file was changed, and what does that mean for the judgement?"""
