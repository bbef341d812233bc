"""The versions of Spark that a guarded stream runs on: one row each.

Supporting a new version takes a row here, a locked environment (`make lock`), and one run of
`make matrix`. What differs in PySpark itself is one small function each:

- `arrow.arrow_schema`, `arrow._connect`: how rows leave the JVM
- `errors.condition_of`: the name of an error
- `evidence.versions`: what a version writes into a checkpoint
- `evidence.behaviour`: what a version does when it starts on a checkpoint

What a start uses besides is the same from 3.5 to 4.3: `availableOffsets`, the nodes of a plan, and
the fields of `DataStreamWriter`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Supported:
    """One version that is run here, killed and restarted."""

    release: str
    """The one that the environment of development, or `requirements/spark-<version>.txt`, pins."""
    hadoop: str
    """Of the Hadoop client that PySpark brings: `hadoop-aws` and the like must have the same."""
    delta: str | None
    """Delta's jar, as `spark.jars.packages` takes it; None if there is none for this version."""

    @property
    def version(self) -> tuple[int, int]:
        """Its first two numbers."""
        major, minor = map(int, self.release.split(".")[:2])
        return major, minor


SUPPORTED = {
    f"{row.version[0]}.{row.version[1]}": row
    for row in (
        Supported(release="3.5.9", hadoop="3.3.4", delta="io.delta:delta-spark_2.12:3.3.2"),
        Supported(release="4.0.5", hadoop="3.4.1", delta="io.delta:delta-spark_2.13:4.0.1"),
        Supported(release="4.1.4", hadoop="3.4.2", delta="io.delta:delta-spark_4.1_2.13:4.4.0"),
        Supported(release="4.2.1", hadoop="3.5.0", delta="io.delta:delta-spark_4.2_2.13:4.4.0"),
        Supported(release="4.3.0", hadoop="3.5.0", delta=None),
    )
}
"""By the first two numbers of the version, the oldest first."""
DELTA_PACKAGES = {version: row.delta for version, row in SUPPORTED.items() if row.delta}
"""Delta's jar for each version that has one. Code, pages and the lab take it from here; the gate
resolves every row against the Maven repository (`tests/lab/test_delta_jars.py`)."""
DELTA_SESSION = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""What a session must be told besides, to read and write Delta tables."""


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
