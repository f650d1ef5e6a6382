"""Scripts that print every table and figure of the README and of the docs."""
