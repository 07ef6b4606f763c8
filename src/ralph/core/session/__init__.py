"""What is recorded of a session in a host, and may it stop?"""
