"""Tables of databases as exactly-once sinks; one dialect per file."""
