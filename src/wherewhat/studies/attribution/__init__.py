"""Which attribution finds the tokens that decide, and whether positions help it (arXiv 2506.02138)."""
