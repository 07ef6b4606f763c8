"""Commands that tell a loop something."""
