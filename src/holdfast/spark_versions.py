"""The versions of Spark that Holdfast knows: one row each.

A new version takes a row here, a dependency group in `pyproject.toml` that `make lock` resolves,
and its fixtures (`make fixtures`). Refusals, the lab, and the tables of the pages read this table.
What differs in PySpark itself is one small function each, in `holdfast.spark`.

A row says what the version does differently when a query is started. Every value was compared with
real Spark: `python -m lab predictions` restarts damaged checkpoints on each version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

SparkVersion = tuple[int, ...]
"""Two numbers, such as (4, 2), mean its newest release; three, a release that differs from it."""
_NUMBERS = re.compile(r"(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?(?:[-.].*)?")


class Behaviour(msgspec.Struct, frozen=True, kw_only=True):
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


class Supported(msgspec.Struct, frozen=True, kw_only=True):
    """One version that is run here, killed and restarted, and whose checkpoints are read."""

    release: str
    """The one that the environment of development, or `requirements/spark-<version>.txt`, pins."""
    hadoop: str
    """Of the Hadoop client that PySpark brings: `hadoop-aws` and the like must have the same."""
    delta: str | None
    """Delta's jar, as `spark.jars.packages` takes it; None if there is none for this version."""
    iceberg: str | None = None
    """Iceberg's runtime, in the same form; None if there is none for this version."""
    first_pins: str = ""
    """A setting that it was the first to pin in a checkpoint; empty when it added none."""
    behaviour: Behaviour
    others: Mapping[SparkVersion, Behaviour] = msgspec.field(default_factory=dict)
    """Its releases that do not do what the newest one does."""
    note: str = ""
    """On the page of what is supported."""

    @property
    def version(self) -> SparkVersion:
        """Its first two numbers."""
        return tuple(map(int, self.release.split(".")[:2]))


def version_text(version: SparkVersion) -> str:
    """Return `4.2`."""
    return ".".join(map(str, version))


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
SUPPORTED = {
    version_text(row.version): row
    for row in (
        Supported(
            release="3.5.9",
            hadoop="3.3.4",
            delta="io.delta:delta-spark_2.12:3.3.2",
            iceberg="org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0",
            first_pins="spark.sql.streaming.statefulOperator.useStrictDistribution",
            behaviour=_3_5,
            note="state cannot be compared: 3.5 has no reader of state",
        ),
        Supported(
            release="4.0.5",
            hadoop="3.4.1",
            delta="io.delta:delta-spark_2.13:4.0.1",
            iceberg="org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0",
            first_pins="spark.sql.streaming.stateStore.encodingFormat",
            behaviour=_4_0,
        ),
        Supported(
            release="4.1.4",
            hadoop="3.4.2",
            delta="io.delta:delta-spark_4.1_2.13:4.4.0",
            iceberg="org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
            behaviour=_4_1,
        ),
        Supported(
            release="4.2.1",
            hadoop="3.5.0",
            delta="io.delta:delta-spark_4.2_2.13:4.4.0",
            first_pins="spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion",
            behaviour=_4_2,
            others={(4, 2, 0): replace(_4_2, needs_partitions=True)},
            note="every test and drill, with Kafka and S3",
        ),
        Supported(
            release="4.3.0",
            hadoop="3.5.0",
            delta=None,
            first_pins="spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled",
            behaviour=_4_2,
        ),
    )
}
"""By the first two numbers of the version, the oldest first."""
KNOWN = tuple(row.version for row in SUPPORTED.values())
"""Those whose checkpoints are read here and were compared with Spark's own answers."""
DIFFERENT = tuple(release for row in SUPPORTED.values() for release in row.others)
"""Releases that do not do what the newest of their version does."""
BEHAVIOURS: Mapping[SparkVersion, Behaviour] = {
    version: behaviour
    for row in SUPPORTED.values()
    for version, behaviour in (*row.others.items(), (row.version, row.behaviour))
}
DELTA_PACKAGES = {version: row.delta for version, row in SUPPORTED.items() if row.delta}
"""Delta's jar for each version that has one; the gate resolves every row against the Maven
repository (`tests/lab/test_delta_jars.py`)."""
ICEBERG_PACKAGES = {version: row.iceberg for version, row in SUPPORTED.items() if row.iceberg}
"""Iceberg's runtime for each version that has one; it is locked in the lab's `jars.toml`."""
DELTA_SESSION = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""What a session must be told besides, to read and write Delta tables."""


def parse_version(text: str) -> SparkVersion | None:
    """Return the version that a text such as `4.2` or `4.2.1` names; None if it is not known."""
    matched = _NUMBERS.fullmatch(text)
    if matched is None:
        return None
    numbers = tuple(int(each) for each in matched.groups() if each is not None)
    found = numbers if numbers in DIFFERENT else numbers[:2]
    return found if found[:2] in KNOWN else None


def pinned_first() -> Mapping[str, tuple[SparkVersion, ...]]:
    """Return the versions that pin a setting and not the next one, the newest setting first."""
    found: dict[str, tuple[SparkVersion, ...]] = {}
    setting = ""
    for row in SUPPORTED.values():
        setting = row.first_pins or setting
        found[setting] = (*found.get(setting, ()), row.version)
    return dict(reversed(found.items()))


def supported(spark_version: str) -> Supported | None:
    """Return the row of a version such as `4.2.1`; None if it is not supported."""
    return SUPPORTED.get(".".join(spark_version.split(".")[:2]))


def reads_state(spark_version: str) -> bool:
    """Return whether a version has a reader of state (`statestore`); 3.5 has none."""
    row = supported(spark_version)
    return row is not None and row.version >= (4, 0)


def delta_settings(spark_version: str) -> dict[str, str]:
    """Return the settings with which a session of this version of Spark has Delta.

    Without the jar when the table has no row for the version.
    """
    row = supported(spark_version)
    jar = {"spark.jars.packages": row.delta} if row is not None and row.delta else {}
    return {**jar, **DELTA_SESSION}
