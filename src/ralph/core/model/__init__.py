"""What is a loop made of? Nouns, events and actions; nothing here decides."""
