"""How is one item after the other worked on, recorded, and kept passing?"""
