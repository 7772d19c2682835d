"""The page of an edit: a model before and after."""
