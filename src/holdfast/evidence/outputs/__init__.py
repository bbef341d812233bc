"""What other writers leave in a sink: evidence of batches without a ledger of Holdfast."""
