"""What runs learn: one task a file, every sample a pure function of seed, split and index."""
