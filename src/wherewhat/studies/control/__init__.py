"""Fast and slow frequencies taken from positional and from symbolic heads of a real model, against equal controls."""
