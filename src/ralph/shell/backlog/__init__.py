"""Where is a project's backlog, and how is it changed without losing anything?"""
