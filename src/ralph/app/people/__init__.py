"""What people agree to, hear of and leave for later loops."""
