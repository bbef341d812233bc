"""Rules that compare a checkpoint with others."""
