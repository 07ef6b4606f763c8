"""What happens next? One table of transitions, and a function for each event."""
