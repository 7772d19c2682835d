"""Apply an edit to attention inside a running model, and restore it."""
