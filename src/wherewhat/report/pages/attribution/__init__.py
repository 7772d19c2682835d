"""The page of `wherewhat attribute`."""
