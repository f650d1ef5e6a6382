"""Tables: where rows come from, and how their columns become numbers."""
