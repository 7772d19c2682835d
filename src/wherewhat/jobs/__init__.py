"""Jobs: plain JSON and a folder each, run by an engine, resumed after any kill. Nothing here knows what a job does."""
