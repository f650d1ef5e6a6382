"""A benchmark that tells the truth: ratios of things run side by side, in turns, in one process, with their spread."""
