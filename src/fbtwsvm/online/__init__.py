"""Learning without end: row by row, forgetting, unlearning, merging."""
