"""Which syntactic relations can be found from where heads look: by position alone, by content alone, or by both."""
