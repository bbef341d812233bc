"""The kind of source: Delta tables."""
