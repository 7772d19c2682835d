"""Counting inside bracketed regions: which encodings learn it, and which token they count against."""
