"""Ratios against doing it the plain way, taken side by side in one run. Run by `make bench`."""
