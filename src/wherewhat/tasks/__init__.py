"""What runs learn: every sample a pure function of seed, split and index."""
