"""What several causes ask of the evidence, answered once."""
