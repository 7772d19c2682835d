"""Small Transformers that ask their encoding where tokens stand, and know nothing else about positions."""
