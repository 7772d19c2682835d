"""How local and how symmetric position should be: encodings set by hand, pre-trained with, and tried on questions."""
