"""What do adapters of agent CLIs share?"""
