"""How does what was typed become a sealed order?"""
