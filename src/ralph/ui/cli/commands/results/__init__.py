"""Commands about what a loop made: land it, take it back, prove it."""
