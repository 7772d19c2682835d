"""Which dependency relations attention finds: by position alone, by content alone, or by both."""
