"""How is a call started, watched and ended with its whole process tree?"""
