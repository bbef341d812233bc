"""`holdfast.inspect`, `holdfast.read_checkpoint`: from a location to what is there."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast import checkpoint
from holdfast.checkpoint import Checkpoint
from holdfast.errors import ConfigError
from holdfast.evidence.collect import collect
from holdfast.evidence.overview import Overview, overview_of
from holdfast.evidence.versions import DIFFERENT, KNOWN, SparkVersion, version_text
from holdfast.storage.open import open_reader


def inspect(
    location: str,
    storage_options: Mapping[str, str] | None = None,
    *,
    spark: SparkVersion | None = None,
    rows: bool = False,
) -> Overview:
    """Say what is in a checkpoint and what the next start does, as `holdfast inspect` does.

    Neither Spark nor a JVM is needed; nothing is written.

    Args:
        location: A directory on disk or in a bucket, Hadoop's spellings too (`s3a://…`).
        storage_options: Of the bucket; they win over the environment and AWS profiles.
        spark: The version that will be started, such as `(4, 2)`; by default the newest that can
            have written the checkpoint.
        rows: Whether every state file that the next start loads is read, and its rows are counted,
            as with `--state`.

    Raises:
        ConfigError: The version of Spark is not one that Holdfast knows.
        LocationError: The location is not one Holdfast can read.
        ReadError: The store did not let us list it.
    """
    if spark is not None and spark not in (*KNOWN, *DIFFERENT):
        known = ", ".join(map(version_text, KNOWN))
        raise ConfigError(f"spark={spark} is not a version of Spark that is known here ({known}).")
    evidence = collect(open_reader(location, storage_options), rows=rows)
    return overview_of(evidence, spark=spark)


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
