"""Hooks into attention: watch, read and replace what attention modules compute."""
