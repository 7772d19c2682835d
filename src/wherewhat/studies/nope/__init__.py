"""What a decoder without an encoding of position knows about positions, and whose attention its own resembles."""
