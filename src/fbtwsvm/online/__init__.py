"""Learn from a stream: row by row or in chunks, with forgetting, unlearning and merging."""
