"""What a head's logits are made of: what each would be if another content stood in its slot. Knows tensors only."""
