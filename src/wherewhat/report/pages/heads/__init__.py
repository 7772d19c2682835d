"""The page of a profile: every head of one model."""
