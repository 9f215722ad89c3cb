"""YAML with the place of every node in the text, and small edits of that text."""
