"""What an engine runs with: defaults and rules of its release beside what was given."""
