"""The edge that reads and writes the world; nothing else in oomedic does."""
