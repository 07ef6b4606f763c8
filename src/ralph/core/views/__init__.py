"""What do lists and screens show of a loop?"""
