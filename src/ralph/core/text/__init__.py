"""How is foreign text made safe, read as Markdown, and quoted?"""
