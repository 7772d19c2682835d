"""What attention whose rows sum to one cannot say: where a token stands (arXiv 2205.13401)."""
