"""Relevance of every token and of every position for an output of a model (arXiv 2506.02138), and its evaluation."""
