"""Rules about the record and the ledgers of a guarded stream."""
