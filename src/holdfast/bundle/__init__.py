"""Evidence bundles: the small files of a checkpoint in one sealed zip, without secrets."""
