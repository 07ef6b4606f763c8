"""How is an agent driven over the Agent Client Protocol?"""
