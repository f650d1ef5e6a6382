"""Files that make modules which have moved importable under their old names; see `fbtwsvm.__init__`."""
