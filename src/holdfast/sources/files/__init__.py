"""The kind of source: files in a directory."""
