"""What can be typed after `ralph backlog`?"""
