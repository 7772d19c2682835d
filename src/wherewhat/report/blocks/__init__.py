"""The few kinds of chart and table that every page is drawn with, each one call."""
