"""The kind of source: Spark's own sources for tests."""
