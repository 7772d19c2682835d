"""The main job: from a model and some texts to a profile of every head."""
