"""Is the work going nowhere, and what is tried then?"""
