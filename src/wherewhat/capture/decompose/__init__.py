"""Take logits apart into what slots and contents contribute."""
