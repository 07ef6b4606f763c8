"""How is a proof signed, found, and checked again?"""
