"""Speech to learn from: recordings with transcripts, and what a net hears of them."""
