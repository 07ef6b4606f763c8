"""What do all readers share?"""
