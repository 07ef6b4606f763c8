"""Where is state kept, and who may write it?"""
