"""Which of the watched statements did a gate's processes execute?"""
