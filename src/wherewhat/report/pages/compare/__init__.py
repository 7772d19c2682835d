"""The page of a comparison: the same heads across models or checkpoints."""
