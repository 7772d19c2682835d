"""Figures as papers print them, one file per paper, so that studies and pages compare with the same numbers."""
