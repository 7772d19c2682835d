"""Do learned tables of positions find the true layout of their tokens? Latin squares (arXiv 2406.08272)."""
