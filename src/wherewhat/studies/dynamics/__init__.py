"""Following numbers or letters in several hops: how heads become positional or symbolic as a decoder learns."""
