"""Iceberg: data and ledger in one commit of the table."""
