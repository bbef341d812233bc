"""`holdfast.inspect`, `diagnose` and `read_checkpoint`: from a location to what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast import checkpoint
from holdfast.bundle.open import open_checkpoint
from holdfast.checkpoint import Checkpoint
from holdfast.errors import ConfigError
from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.overview import overview_of
from holdfast.judgement.case import DiagnoseRequest, collect_case
from holdfast.judgement.judge import Judgement, judge
from holdfast.spark_versions import DIFFERENT, KNOWN, SparkVersion, parse_version, version_text


def inspect(
    location: str,
    storage_options: Mapping[str, str] | None = None,
    *,
    spark: str | SparkVersion | None = None,
    rows: bool = False,
) -> Judgement:
    """Say what is in a checkpoint and what the next start does, as `holdfast inspect` does.

    Neither Spark nor a JVM is needed; nothing is written.

    Args:
        location: A directory on disk or in a bucket, Hadoop's spellings too (`s3a://…`); or the
            zip of `holdfast evidence`.
        storage_options: Of the bucket; they win over the environment and AWS profiles.
        spark: The version that will be started, such as `"4.2"`; by default the newest that can
            have written the checkpoint.
        rows: Whether every state file that the next start loads is read, and its rows are counted,
            as with `--state`.

    Raises:
        ConfigError: The version of Spark is not one that Holdfast knows.
        LocationError: The location is not one Holdfast can read.
        ReadError: The store did not let us list it.
    """
    version = _version(spark)
    evidence = collect(open_checkpoint(location, storage_options).checkpoint, rows=rows)
    overview = overview_of(evidence, spark=version)
    return judge(Case(checkpoint=overview.checkpoint, overview=overview))


def diagnose(  # noqa: PLR0913 - one argument per option of the command
    location: str,
    storage_options: Mapping[str, str] | None = None,
    *,
    root: str | None = None,
    probe: bool = False,
    sources: Mapping[str, str] | None = None,
    sinks: Sequence[str] = (),
    event_log: str | None = None,
    spark: str | SparkVersion | None = None,
) -> Judgement:
    """Say whether a restart is safe, as `holdfast diagnose` does; nothing is written.

    Args:
        location: Of a checkpoint; with a root, the name of a guarded stream.
        storage_options: Of the bucket; they win over the environment and AWS profiles.
        root: Of guarded streams.
        probe: Whether the sources are asked what they can still give.
        sources: Where a source is, by its place in the query: `{"0": "broker:9092"}`.
        sinks: Locations of sinks without a ledger of Holdfast.
        event_log: Where Spark's event logs are: tells every start, end and batch of the query.
        spark: The version that will be started, such as `"4.2"`; by default the newest that can
            have written the checkpoint.

    Raises:
        ConfigError: The root has no such stream, or the version of Spark is not known.
        LocationError: A location is not one Holdfast can read.
        ReadError: The store did not let us list the checkpoint.
    """
    looks = DiagnoseRequest(
        location=location,
        root=root,
        options=storage_options or {},
        spark=_version(spark),
        probe=probe or bool(sources),
        sources=sources or {},
        sinks=tuple(sinks),
        event_log=event_log,
    )
    return judge(collect_case(looks))


def _version(spark: str | SparkVersion | None) -> SparkVersion | None:
    """Return a version, as people write it or as a pair."""
    found = parse_version(spark) if isinstance(spark, str) else spark
    if spark is not None and found not in (*KNOWN, *DIFFERENT):
        known = ", ".join(map(version_text, KNOWN))
        raise ConfigError(f"spark={spark} is not a version of Spark that is known here ({known}).")
    return found


def read_checkpoint(location: str, storage_options: Mapping[str, str] | None = None) -> Checkpoint:
    """Read a checkpoint without Spark; nothing is written.

    Args:
        location: A directory on disk or in a bucket, Hadoop's spellings too (`s3a://…`); or the
            zip of `holdfast evidence`.
        storage_options: Of the bucket; they win over the environment and AWS profiles.

    Raises:
        LocationError: The location is not one Holdfast can read.
        ReadError: The store did not let us list it.
    """
    return checkpoint.read_checkpoint(open_checkpoint(location, storage_options).checkpoint)
