"""What versions of Spark do differently when a query is started: one row for each version.

A row says what changed since the version above it. Every value was compared with real Spark:
`python -m lab predictions` restarts damaged checkpoints on each version.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from holdfast.evidence.versions import SparkVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What one version does where others do something else."""

    needs_metadata: bool = False
    """Refuses a checkpoint whose logs have entries without the file `metadata`; otherwise it goes
    on with a new query id."""
    needs_empty_location: bool = False
    """Refuses batch 0 while offsets/, commits/ or state/ hold a file. Otherwise it writes batch 0
    to the sink, and fails afterwards if commits/0 exists."""
    needs_offsets_of_commits: bool = False
    """Refuses commit entries without offset entries, before it looks whether anything is there."""
    needs_settings: bool = False
    """Refuses a pending batch whose entry records no settings. Otherwise it writes the batch to the
    sink and fails afterwards, in `MicroBatchExecution.markMicroBatchEnd`."""
    needs_partitions: bool = False
    """Refuses a pending batch if its entry, or the one before, records no shuffle partitions."""
    compares_partitions: bool = False
    """Refuses a pending batch with more or fewer shuffle partitions than the one before."""
    forgets_start: bool = False
    """After a pending batch without an offset, reads the source from its beginning; otherwise from
    the end of the batch before."""
    compares_operators: bool = False
    """Writes operators' names into state/, and refuses a query that has others."""
    checks_schema_first: bool = False
    """Reads state schemas before the batch is planned; otherwise in its tasks, when the sink has
    been called."""
    needs_state_directory: bool = False
    """Refuses a stateful query without state/ before its first batch; otherwise the batch fails."""
    repairs_state: bool = False
    """Passes over a damaged snapshot of state for an older one and the changes since."""
    verifies_snapshots: bool = False
    """Compares a RocksDB snapshot with the checksum that Spark wrote beside it."""
    delta_missing: str = "Error reading delta file"
    """In the error when HDFS-backed state lacks a file."""
    rocksdb_missing: str = "Error reading streaming state file"
    """In the error when RocksDB state lacks a file."""
    state_damaged: str = "STREAM_FAILED"
    """In the error when a state file cannot be read."""


_3_5 = Behaviour()
_4_0 = replace(
    _3_5,
    forgets_start=True,
    compares_operators=True,
    checks_schema_first=True,
    delta_missing="CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
    rocksdb_missing="CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE",
    state_damaged="CANNOT_LOAD_STATE_STORE",
)
_4_1 = replace(_4_0, needs_empty_location=True)
_4_2 = replace(
    _4_1,
    needs_metadata=True,
    needs_offsets_of_commits=True,
    needs_settings=True,
    compares_partitions=True,
    needs_state_directory=True,
    repairs_state=True,
    verifies_snapshots=True,
)
BEHAVIOURS: dict[SparkVersion, Behaviour] = {
    (3, 5): _3_5,
    (4, 0): _4_0,
    (4, 1): _4_1,
    (4, 2, 0): replace(_4_2, needs_partitions=True),  # 4.2.1 no longer does
    (4, 2): _4_2,
    (4, 3): _4_2,
}
"""By version, as `versions.KNOWN` and `versions.DIFFERENT` name them."""
