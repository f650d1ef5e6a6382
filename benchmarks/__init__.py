"""Scripts that print every figure in the README and the docs."""
