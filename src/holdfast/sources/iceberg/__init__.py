"""The kind of source: Iceberg tables."""
