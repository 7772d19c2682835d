"""Small Transformers that get positions from their encoding only."""
