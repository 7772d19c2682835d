"""What probes of swapped sentences share: where cases come from, how a model is read, and what is counted of it."""
