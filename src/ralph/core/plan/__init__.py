"""How is a plan written, read, checked, compared and imported?"""
