"""Options that say what to look at, written once for every verb that collects a case."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.options import all_of, with_storage_options
from holdfast.errors import ConfigError
from holdfast.spark_versions import KNOWN, SparkVersion, parse_version, version_text
from holdfast.storage.options import parse_options

if TYPE_CHECKING:
    from holdfast.evidence.spark_error import ErrorReport
    from holdfast.judgement.case import DiagnoseRequest

with_probe = all_of(
    click.option(
        "--probe",
        is_flag=True,
        help="Ask every source what it can still give. A guarded stream knows where its sources "
        "are; for others see --source.",
    ),
    click.option(
        "--source",
        "sources",
        multiple=True,
        metavar="[N=]WHERE",
        help="Where source N is: bootstrap servers of Kafka, or the location of a table. N can be "
        "left out if there is one source. Can be repeated; asks for --probe.",
    ),
    click.option(
        "--kafka-config", metavar="FILE", help="Properties of the Kafka client, such as SASL."
    ),
)
with_event_log = click.option(
    "--event-log",
    metavar="LOCATION",
    help="Spark's event log: the directory of spark.eventLog.dir, one application in it, or a "
    "file. Tells every start, end and batch of a query that is not guarded.",
)
with_spark = click.option(
    "--spark", metavar="VERSION", help="The Spark that will be started, such as 4.2."
)
with_sinks = click.option(
    "--sink",
    "sinks",
    multiple=True,
    metavar="LOCATION",
    help="A sink without Holdfast: a Delta table, the directory of a file sink, or an Iceberg "
    "table. Can be repeated.",
)
with_deep = click.option(
    "--deep",
    is_flag=True,
    help="Read every log entry, in a bucket too, and every state file that a start loads: "
    "one request for each.",
)
with_looks = all_of(
    click.option("--root", help="The root of guarded streams; LOCATION is then a stream's name."),
    with_spark,
    with_probe,
    with_sinks,
    with_event_log,
    click.option(
        "--among", metavar="LOCATION", help="Compare with the checkpoints below this directory."
    ),
    with_deep,
    with_storage_options,
)


def make_looks(location: str, error: str | None = None, **given: Any) -> DiagnoseRequest:
    """Return what to look at, as the options give it.

    Raises:
        ConfigError: One of them is not of its form.
    """
    from holdfast.judgement.case import DiagnoseRequest  # noqa: PLC0415 - `inspect` does not need it

    sources = parse_sources(given["sources"])
    return DiagnoseRequest(
        location=location,
        root=given["root"],
        options=parse_options(given["storage_options"]),
        spark=None if given["spark"] is None else parse_spark(given["spark"]),
        deep=given["deep"],
        probe=given["probe"] or bool(sources),
        sources=sources,
        kafka_config=given["kafka_config"],
        sinks=given["sinks"],
        among=given.get("among"),
        event_log=given.get("event_log"),
        error=None if error is None else _read_error(error),
    )


def _read_error(name: str) -> ErrorReport:
    from holdfast.cli.spark_errors import read_error_file  # noqa: PLC0415 - rarely asked for

    return read_error_file(name)


def parse_spark(text: str) -> SparkVersion:
    """Return a version of Spark.

    Raises:
        ConfigError: It is not one that Holdfast knows.
    """
    version = parse_version(text)
    if version is None:
        known = ", ".join(map(version_text, KNOWN))
        raise ConfigError(f"--spark {text} is not a Spark version that Holdfast knows ({known}).")
    return version


def parse_sources(given: Iterable[str]) -> dict[str, str]:
    """Return where each source is, by its place in the query; an empty place is the only one."""
    return dict(map(_split_source, given))


def _split_source(text: str) -> tuple[str, str]:
    number, equals, where = text.partition("=")
    return (number, where) if equals and "/" not in number else ("", text)
