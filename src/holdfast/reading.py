"""`holdfast.read_checkpoint`: from what people write for a location to what is there."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast import checkpoint
from holdfast.checkpoint import Checkpoint
from holdfast.storage.open import open_reader


def read_checkpoint(location: str, storage_options: Mapping[str, str] | None = None) -> Checkpoint:
    """Read a checkpoint without Spark; nothing is written.

    Args:
        location: A directory on disk or in a bucket, Hadoop's spellings too (`s3a://…`).
        storage_options: Of the bucket; they win over the environment and AWS profiles.

    Raises:
        LocationError: The location is not one Holdfast can read.
        ReadError: The store did not let us list it.
    """
    return checkpoint.read_checkpoint(open_reader(location, storage_options))
