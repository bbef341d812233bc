"""The kind of source: those that Holdfast does not know."""
