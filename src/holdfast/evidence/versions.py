"""Which versions of Spark can have written a checkpoint, and which can read it.

Spark writes no version into a checkpoint. It pins settings in every offset entry, and each version
added some (`OffsetSeqMetadata.relevantSQLConfs`); a query that is restarted by another version
writes that version's list from its first new batch on. 4.1 alone writes checksums of its own beside
state files of format 1. What can read it follows from the newest version of every file there.
"""

from __future__ import annotations

import msgspec

from holdfast.checkpoint.commits import CommitEntry
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.state.operators import OperatorMetadata
from holdfast.checkpoint.state.schema import StateSchema
from holdfast.spark_versions import KNOWN, SparkVersion, pinned_first

_OPERATOR = "/_metadata/metadata"
"""How the path of an operator's metadata of version 1 ends."""


class Writers(msgspec.Struct, frozen=True, kw_only=True):
    """Versions that can have written the newest entries."""

    versions: tuple[SparkVersion, ...]
    """Empty when nothing tells."""
    follows_from: tuple[str, ...]


class Readers(msgspec.Struct, frozen=True, kw_only=True):
    """Versions that can read every file."""

    versions: tuple[SparkVersion, ...]
    because: tuple[str, ...]
    """What rules out the others."""


def find_writers(checkpoint: Checkpoint) -> Writers:
    """Say which versions can have written the newest offset entry that can be read."""
    entry = checkpoint.newest_readable
    conf = {} if entry is None or entry.metadata is None else entry.metadata.conf
    for setting, versions in pinned_first().items():
        if entry is not None and setting in conf:
            only = ((4, 1),) if (4, 1) in versions and _has_own_checksums(checkpoint) else None
            files = (f"offsets/{entry.batch_id}",)
            return Writers(versions=only or versions, follows_from=files)
    return Writers(versions=(), follows_from=())


def find_readers(checkpoint: Checkpoint) -> Readers:
    """Say which versions can read every file of the checkpoint."""
    needs = [*_needs_of_logs(checkpoint), *_needs_of_conf(checkpoint), *_needs_of_state(checkpoint)]
    unneeded = {
        *(f"offsets/{batch}" for batch in [*checkpoint.offsets][:-2]),
        *(f"commits/{batch}" for batch in [*checkpoint.commits][:-1]),
    }
    for entry in checkpoint.unparsed:
        # At a start Spark reads no older log entries, and goes on without an operator's metadata.
        is_needed = entry.path not in unneeded and not entry.path.endswith(_OPERATOR)
        if entry.spark_says == "UnsupportedLogVersion" and is_needed:
            return Readers(versions=(), because=(f"{entry.path}: {entry.reason}",))
    oldest = max((version for version, _ in needs), default=KNOWN[0])
    return Readers(
        versions=tuple(version for version in KNOWN if version >= oldest),
        because=tuple(because for version, because in needs if version == oldest),
    )


def _needs_of_logs(checkpoint: Checkpoint) -> list[tuple[SparkVersion, str]]:
    needs: list[tuple[SparkVersion, str]] = []
    # The newest first, which is the one that is named.
    for batch, entry in sorted(checkpoint.offsets.items(), reverse=True):
        if isinstance(entry, OffsetEntry) and entry.version >= 2:
            needs.append(((4, 2), f"offsets/{batch} is of version v{entry.version}"))
    for batch, commit in sorted(checkpoint.commits.items(), reverse=True):
        if isinstance(commit, CommitEntry) and commit.version >= 2:
            since: SparkVersion = (4, 0) if commit.version == 2 else (4, 2)
            needs.append((since, f"commits/{batch} is of version v{commit.version}"))
    return needs


def _needs_of_conf(checkpoint: Checkpoint) -> list[tuple[SparkVersion, str]]:
    entry = checkpoint.newest_readable
    conf = {} if entry is None or entry.metadata is None else entry.metadata.conf
    pinned: tuple[tuple[str, str, SparkVersion], ...] = (
        ("spark.sql.streaming.stateStore.rowChecksum.enabled", "true", (4, 2)),
        ("spark.sql.streaming.stateStore.encodingFormat", "avro", (4, 0)),
    )
    return [
        (since, f"{key}={value} is pinned")
        for key, value, since in pinned
        if conf.get(key, "").lower() == value
    ]


def _needs_of_state(checkpoint: Checkpoint) -> list[tuple[SparkVersion, str]]:
    needs: list[tuple[SparkVersion, str]] = []
    for operator in checkpoint.state:
        for metadata in operator.metadata:
            if isinstance(metadata, OperatorMetadata) and metadata.version >= 2:
                needs.append((_oldest_of_v2(metadata), f"{metadata.path} is of version v2"))
        for schema in operator.schemas:
            if isinstance(schema, StateSchema) and schema.version >= 3:
                families = {family.name for family in schema.families}
                by_time = any(
                    name.endswith(("-tsWithKey", "-keyWithTsToValues")) for name in families
                )
                since: SparkVersion = (4, 2) if by_time else (4, 0)
                needs.append((since, f"{schema.path} is of version v3"))
    return needs


def _oldest_of_v2(metadata: OperatorMetadata) -> SparkVersion:
    # Joins that keep everything in one store came a version after transformWithState.
    return (4, 1) if metadata.properties.get("useVirtualColumnFamilies") is True else (4, 0)


def _has_own_checksums(checkpoint: Checkpoint) -> bool:
    return any(
        store.checksums and all(file.unique_id is None for file in store.files)
        for operator in checkpoint.state
        for store in operator.stores
    )
