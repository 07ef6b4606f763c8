"""What happened? The append-only record of all loops."""
