"""Published experiments done again at the scale of a laptop, ours beside what was published."""
