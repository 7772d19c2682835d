"""Load models by name, check them, and draw untrained weights."""
