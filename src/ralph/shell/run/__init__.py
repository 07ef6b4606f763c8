"""Who drives a loop from its journal to a pause or an end?"""
