"""The pages that are no study's, one room each."""
