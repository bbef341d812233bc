"""Rules that need the history of the query from Spark's event log."""
