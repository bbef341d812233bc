"""Files: a batch is a directory that one rename makes visible, and the rename is the ledger."""
