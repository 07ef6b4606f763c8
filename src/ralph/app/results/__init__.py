"""What can be asked about what a loop made: land it, take it back, drop it, prove it, check a proof."""
