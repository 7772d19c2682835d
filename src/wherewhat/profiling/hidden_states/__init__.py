"""Where position is in the hidden states: tokens moved at the input, and means of queries and keys over texts."""
