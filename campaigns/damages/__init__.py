"""Checkpoints damaged by the thousand: what `diagnose` says, and what Spark then does."""
