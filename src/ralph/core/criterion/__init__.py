"""What would prove a task in this project?"""
