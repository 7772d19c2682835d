"""From texts to the token ids and batches that a model reads."""
