"""What do all guards share?"""
