"""PostgreSQL: binary COPY and the ledger in one transaction."""
