"""Pure decisions: facts in, the loop and what it owes out. No clock, no random number, no path, no I/O."""
