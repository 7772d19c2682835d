"""Speech: rotary against relative positions in a conformer that recognises digits."""
