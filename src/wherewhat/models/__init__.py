"""Nets at rest: trained weights in folders, and the ones that come with the package."""
