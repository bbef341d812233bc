"""Tables of MariaDB, MySQL and SQLite as exactly-once sinks; one dialect per file."""
