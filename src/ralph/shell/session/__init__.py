"""Where is what happened in a host's session recorded?"""
