"""Position inside hidden states: move tokens and run the model again, or take means over texts."""
