"""Change position inside a model for the time of a block: which frequencies turn, how loud they are, who speaks."""
