"""Learning from all rows at once."""
