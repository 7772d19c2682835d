"""Remove fast or slow frequencies from positional or symbolic heads of a real model, compared with matched controls."""
