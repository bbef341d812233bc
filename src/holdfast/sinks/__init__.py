"""Exactly-once writers for foreachBatch: data and ledger in one atomic step of the sink itself."""
