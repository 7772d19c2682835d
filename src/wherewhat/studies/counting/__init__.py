"""Counting inside bracketed regions: which encodings learn it, and which token they count against (arXiv 2406.02585)."""
