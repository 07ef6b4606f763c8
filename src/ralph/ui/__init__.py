"""Screens, reports and commands. Nothing imports this layer."""
