"""Following numbers or letters over several hops: how heads become positional or symbolic while a decoder learns."""
