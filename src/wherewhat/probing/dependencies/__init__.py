"""Which syntactic relations can be found from where heads look: by place alone, by content alone, or by both."""
