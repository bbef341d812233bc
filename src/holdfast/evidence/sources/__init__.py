"""What each source of a query can still give: probes, one module per kind of source."""
