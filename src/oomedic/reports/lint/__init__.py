"""What lint says, in each of its formats."""
