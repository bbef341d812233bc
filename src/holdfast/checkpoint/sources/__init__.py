"""What sources keep below `sources/<i>`: the log of a file source, and where others began."""
