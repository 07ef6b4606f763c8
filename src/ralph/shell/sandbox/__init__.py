"""What may a call see and write?"""
