"""What goes into the prompt of a call?"""
