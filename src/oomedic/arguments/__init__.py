"""The engine's command line: the table of arguments, shells, and what was given."""
