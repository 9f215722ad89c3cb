"""Doors into the one pipeline, independent of each other."""
