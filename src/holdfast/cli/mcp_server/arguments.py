"""The arguments of each tool, and the words of the command that they stand for.

A field is an option of the command of the same name; `Kind` says what its text is, and so how it
is confined. What is not here cannot be asked for by an agent: the options of a bucket, a file with
the properties of a Kafka client, where an answer is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, get_type_hints

import msgspec
from msgspec import Meta

from holdfast.cli.mcp_server.roots import Roots
from holdfast.errors import ConfigError


class Kind(StrEnum):
    """What the text of an argument is."""

    PLACE = "place"
    PROGRAM = "program"
    SOURCE = "source"
    SINK = "sink"
    TEXT = "text"


def _of(kind: Kind, text: str) -> Meta:
    return Meta(description=text, extra={"kind": kind})


_Root = Annotated[
    str | None, _of(Kind.PLACE, "Root of guarded streams; the location is then a stream's name.")
]
_Sinks = Annotated[
    list[str],
    _of(
        Kind.SINK,
        "Sinks without Holdfast: a Delta table, the directory of a file sink, an Iceberg table.",
    ),
]
_Sources = Annotated[
    list[str],
    _of(Kind.SOURCE, "Where source N is, as [N=]LOCATION: asks it what it can still give."),
]
_EventLog = Annotated[str | None, _of(Kind.PLACE, "Spark's event log: a directory, or a file.")]
_Among = Annotated[str | None, _of(Kind.PLACE, "A directory of checkpoints to compare with.")]
_Spark = Annotated[
    str | None, _of(Kind.TEXT, "The version of Spark that will be started, such as 4.2.")
]
_Stream = Annotated[
    str, _of(Kind.TEXT, "The location of a checkpoint; with `root`, the name of a stream.")
]
_Paths = Annotated[
    list[str],
    Meta(
        description="Python files, notebooks or directories.",
        min_length=1,
        extra={"kind": Kind.PLACE},
    ),
]


class Arguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a tool is called with."""


class InspectArguments(Arguments):
    """Of `inspect`."""

    location: Annotated[
        str, _of(Kind.PLACE, "A checkpoint, a directory of checkpoints, or an evidence zip.")
    ]
    batch: (
        Annotated[int, Meta(ge=0, description="Show one batch: its ranges and settings.")] | None
    ) = None
    state: Annotated[bool, Meta(description="Open the state files and count rows.")] = False
    files: Annotated[bool, Meta(description="List every file.")] = False
    cost: Annotated[
        bool, Meta(description="What the checkpoint costs: files, bytes, requests.")
    ] = False
    probe: Annotated[bool, Meta(description="Ask every source what it can still give.")] = False
    source: _Sources = []
    event_log: _EventLog = None
    spark: _Spark = None


class DiagnoseArguments(Arguments):
    """Of `diagnose`."""

    location: _Stream
    root: _Root = None
    error: Annotated[
        str | None, _of(Kind.PLACE, "A file with the driver's log or a stack trace.")
    ] = None
    probe: Annotated[bool, Meta(description="Ask every source what it can still give.")] = False
    source: _Sources = []
    sink: _Sinks = []
    event_log: _EventLog = None
    among: _Among = None
    deep: Annotated[bool, Meta(description="Read every log entry and every state file.")] = False
    spark: _Spark = None


class FactsArguments(Arguments):
    """Of `facts`."""

    location: _Stream
    root: _Root = None
    code: Annotated[
        str | None, _of(Kind.PROGRAM, "The program of the query, as FILE or FILE:NAME.")
    ] = None
    probe: Annotated[bool, Meta(description="Ask every source what it can still give.")] = False
    source: _Sources = []
    sink: _Sinks = []
    event_log: _EventLog = None
    among: _Among = None
    spark: _Spark = None


class FleetScanArguments(Arguments):
    """Of `fleet_scan`."""

    locations: Annotated[
        list[str],
        Meta(
            description="Directories to search for checkpoints.",
            min_length=1,
            extra={"kind": Kind.PLACE},
        ),
    ]
    depth: Annotated[int, Meta(ge=0, le=20, description="So many directories deep.")] = 8
    idle_days: Annotated[
        int, Meta(ge=1, description="Name checkpoints without a new batch for so many days.")
    ] = 7


class FleetDiffArguments(Arguments):
    """Of `fleet_diff`."""

    scans: Annotated[
        list[str],
        Meta(
            description="The earlier scan, then the later one: files of `holdfast fleet scan --to` "
            "(.parquet or .jsonl), or directories of them: then the newest in each.",
            min_length=2,
            max_length=2,
            extra={"kind": Kind.PLACE},
        ),
    ]


class StateArguments(Arguments):
    """Of `state`."""

    location: Annotated[str, _of(Kind.PLACE, "A checkpoint.")]
    operator: Annotated[int, Meta(ge=0, description="Only this operator.")] | None = None
    partition: Annotated[int, Meta(ge=0, description="Only this partition.")] | None = None
    key: Annotated[
        list[str], _of(Kind.TEXT, "Find rows by their key: NAME=VALUE, or a value.")
    ] = []
    limit: Annotated[int, Meta(ge=0, le=100, description="Show so many rows.")] = 5


class ExplainArguments(Arguments):
    """Of `explain`."""

    code: Annotated[str, _of(Kind.TEXT, "The code or the name of a rule: HF606.")]


class LintArguments(Arguments):
    """Of `lint`."""

    paths: _Paths


class AuditArguments(Arguments):
    """Of `audit`."""

    paths: _Paths
    checkpoints: Annotated[
        str | None, _of(Kind.PLACE, "Say which query has which checkpoint below this.")
    ] = None


class PlanArguments(Arguments):
    """Of `plan`."""

    goal: Annotated[str, Meta(description="What the repair is for; see the description.")]
    stream: _Stream
    root: _Root = None
    options: Annotated[
        dict[str, str | int | bool | dict[str, str]],
        Meta(description="Of the goal, by name; see the description."),
    ] = {}
    source: _Sources = []
    sink: _Sinks = []
    event_log: _EventLog = None
    among: _Among = None


class ApplyArguments(Arguments):
    """Of `apply`."""

    plan: Annotated[str, _of(Kind.PLACE, "The file of the plan, below a root.")]
    digest: Annotated[
        str, _of(Kind.TEXT, "What `holdfast apply PLAN --approve` printed for a person.")
    ] = ""
    allow: Annotated[
        list[str],
        _of(Kind.TEXT, "The permissions that the person gave with --allow, as WORD:STREAM."),
    ] = []


def words_of(given: Arguments, roots: Roots, *, last: str) -> tuple[list[str], list[str]]:
    """Return the options, and the last arguments, of the command that a call stands for.

    Args:
        given: The arguments of the call.
        roots: Where its places must be.
        last: The field whose value comes last, without an option.

    Raises:
        LocationError: A place is outside the roots, or is none.
        ConfigError: A text is one that no command takes.
    """
    names = [each for each in given.__struct_fields__ if each != last]
    options = [word for name in names for word in _option(given, name, roots)]
    return options, list(_texts(given, last, roots))


def _option(given: Arguments, name: str, roots: Roots) -> Iterator[str]:
    value, flag = getattr(given, name), f"--{name.replace('_', '-')}"
    if value is True:
        yield flag
    elif isinstance(value, int) and not isinstance(value, bool):
        yield f"{flag}={value}"
    else:
        yield from (f"{flag}={each}" for each in _texts(given, name, roots))


def _texts(given: Arguments, name: str, roots: Roots) -> Iterator[str]:
    """Yield the texts of a field, each confined as its kind says."""
    value = getattr(given, name)
    values = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    kind = kind_of(type(given), name)
    # With a root, a location is the name of a stream, and is looked for below that root.
    if name in ("location", "stream") and kind is Kind.TEXT and not getattr(given, "root", None):
        kind = Kind.PLACE
    confine = {
        Kind.PLACE: roots.place,
        Kind.PROGRAM: roots.program,
        Kind.SOURCE: roots.source,
        Kind.SINK: roots.sink,
        Kind.TEXT: _plain,
    }[kind]
    yield from map(confine, values)


def _plain(text: str) -> str:
    if len(text) > 4_096 or "\0" in text:
        raise ConfigError("A text is too long, or has a NUL character.")
    return text


def kind_of(form: type[Arguments], name: str) -> Kind:
    """Return what the text of a field is."""
    hint = get_type_hints(form, include_extras=True)[name]
    for meta in getattr(hint, "__metadata__", ()):
        if isinstance(meta, Meta) and meta.extra:
            return Kind(meta.extra["kind"])
    return Kind.TEXT
