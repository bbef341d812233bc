"""Typical edits of a stream: what `holdfast check` says of each, and what Spark then does."""
