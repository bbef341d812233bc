"""Rules about the query that is to be started."""
