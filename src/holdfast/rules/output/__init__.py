"""Rules about what a sink without a ledger holds."""
