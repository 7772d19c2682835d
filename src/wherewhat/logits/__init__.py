"""Decomposed logits of a head: what each logit would be with another content in its slot. Knows tensors only."""
