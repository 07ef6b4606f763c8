"""The built-in demo agent: how is it started, and how does it work?"""
