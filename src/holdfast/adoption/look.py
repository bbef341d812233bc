"""Looks at everything that was named of a plain stream: what its adoption follows from."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from holdfast.adoption.first_start import FirstStart, StartLook, find_first_start
from holdfast.adoption.into_sink import (
    IntoSink,
    NamedTable,
    NoSink,
    delta_at,
    postgres_table,
)
from holdfast.adoption.model import Suggested
from holdfast.adoption.names import find_doubts, find_taken, suggest_root, suggest_stream
from holdfast.adoption.program import CodeFile, ProgramOfStream, read_program_of
from holdfast.apply.movement import find_movement
from holdfast.bundle.open import open_checkpoint
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.errors import ConfigError, ReadError
from holdfast.evidence.case import Case
from holdfast.evidence.outputs.delta import DeltaOutput
from holdfast.judgement.case import DiagnoseRequest, collect_case
from holdfast.judgement.event_log_facts import history_of
from holdfast.judgement.judge import Judgement, judge
from holdfast.lint.query_in_code import NoQuery
from holdfast.plan.plain import GivenSinks, add_logged_sink, sinks_of
from holdfast.record.documents import RecordError
from holdfast.sinks.secrets import shown_name
from holdfast.storage.location import parse_location, spark_location
from holdfast.storage.read import Reader

_NO_SINK = NoSink(
    why="its sink is not known",
    how="Name it with --sink LOCATION, or the program with --code FILE.",
    is_certain=False,
)
NO_STREAM = Suggested(value="STREAM", where="nothing suggests a name; give --stream NAME")
NO_ROOT = Suggested(value="ROOT", where="no directory above it fits; give --root LOCATION")
Program = ProgramOfStream | NoQuery | None
"""What the program says; None if none was named."""


class AdoptionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to look at, as it was asked for."""

    looks: DiagnoseRequest
    """The checkpoint, its sinks, sources and event log; its root is that of the adoption. A sink
    is a location, or a table of PostgreSQL as `env:NAME#TABLE`."""
    stream: str | None = None
    code: CodeFile | None = None


class PlainStream(msgspec.Struct, frozen=True, kw_only=True):
    """What was found."""

    judged: Judgement
    program: Program
    stream: Suggested
    root: Suggested
    into: IntoSink | NoSink
    start: FirstStart | None
    """What the first guarded start finds; None if there is none, or its sink is not known."""
    moves: str | None
    """What shows that the old query runs."""
    taken: str | None = None
    """Why the stream cannot have the checkpoint."""
    unread: str | None = None
    """Why it is not known whether another stream has it."""

    @property
    def case(self) -> Case:
        """What is known of it."""
        return self.judged.case

    @property
    def sink(self) -> IntoSink | None:
        """The sink; None if it is not known, or Holdfast has none for it."""
        return self.into if isinstance(self.into, IntoSink) else None

    @property
    def is_named(self) -> bool:
        """Whether it has a name and a root."""
        return self.stream is not NO_STREAM and self.root is not NO_ROOT


def look(request: AdoptionRequest) -> PlainStream:
    """Look at everything that was named.

    Raises:
        ConfigError: It is a bundle, or the stream's name is not one.
        LocationError: A location is not one that Holdfast can read.
        ReadError: A directory of the checkpoint cannot be listed; nothing can be said then.
    """
    opened = open_checkpoint(request.looks.location, request.looks.options)
    if opened.bundle is not None:
        raise ConfigError("adopt looks at the checkpoint itself, not at a bundle of it.")
    program = None if request.code is None else read_program_of(request.code)
    given = sinks_of("", request.looks.sinks, is_first=True)
    into = _named_sink(program, given)
    looks = replace(request.looks, root=None, sinks=given.places or _sinks_in(into))
    case = collect_case(looks)
    if not isinstance(into, IntoSink) and not into.is_certain:
        case = add_logged_sink(case, looks.options)
    judged = judge(case)
    checkpoint = opened.checkpoint
    stream = _suggest_stream(request, program, case) or NO_STREAM
    root = suggest_root(request.looks.root, checkpoint.location, looks.options) or NO_ROOT
    if root is not NO_ROOT and (doubt := find_doubts(parse_location(root.value))) is not None:
        root = replace(root, where=f"{root.where}. {doubt}")
    found = PlainStream(
        judged=judged,
        program=program,
        stream=stream,
        root=root,
        into=_settled(into, case, is_logged=not looks.sinks),
        start=None,
        moves=find_movement(checkpoint),
    )
    try:
        found = replace(found, taken=_find_taken(found, looks))
    except ReadError as error:
        found = replace(found, unread=f"{error.what} {error.why}".rstrip("."))
    return replace(found, start=_first_start(found, checkpoint, looks))


def _first_start(
    found: PlainStream, checkpoint: Reader, looks: DiagnoseRequest
) -> FirstStart | None:
    into, case = found.sink, found.case
    is_there = isinstance(case.checkpoint.metadata, QueryMetadata) and case.record is None
    if not is_there or into is None:
        return None
    if into.kind == "delta":
        place = _location_of(case, looks)
        if place is None:
            return None
        into = replace(into, place=place)
    return find_first_start(
        StartLook(
            case=case,
            checkpoint=checkpoint,
            into=into,
            stream=found.stream.value,
            options=looks.options,
        )
    )


def _location_of(case: Case, looks: DiagnoseRequest) -> str | None:
    """Return where the Delta table is, as Spark knows it: by its log, or as it was named."""
    known = (each.location for each in case.outputs if isinstance(each, DeltaOutput))
    found = [*filter(None, known), *looks.sinks]
    return spark_location(parse_location(found[0])) if found else None


def _named_sink(program: Program, given: GivenSinks) -> IntoSink | NoSink:
    """Return the sink that the program writes to, or the PostgreSQL table that was named."""
    secret, _, table = (given.tables[0] if given.tables else "").partition("#")
    if secret and shown_name(secret) != secret:
        raise ConfigError(
            "--sink takes a PostgreSQL table as env:NAME#TABLE, never the DSN itself."
        )
    named = NamedTable(secret, table) if table else None
    if isinstance(program, ProgramOfStream):
        return program.find_sink(named)
    return _NO_SINK if named is None else postgres_table(named.table, named.secret)


def _sinks_in(found: IntoSink | NoSink) -> tuple[str, ...]:
    """Return the location that the program names, if it is one that can be looked at."""
    if not isinstance(found, IntoSink) or found.kind != "delta" or found.is_named:
        return ()
    place = found.place or ""
    return (place,) if ":" in place or place.startswith("/") else ()


def _settled(found: IntoSink | NoSink, case: Case, *, is_logged: bool) -> IntoSink | NoSink:
    """Return the sink of the program; without one the Delta table that was named or logged."""
    tables = [each for each in case.outputs if isinstance(each, DeltaOutput) and each.newest >= 0]
    if isinstance(found, IntoSink):
        return replace(found, is_assumed=False) if found.is_assumed and tables else found
    if found.is_certain or len(case.outputs) != 1:
        return _with_log(found, case)
    if tables and tables[0].location:
        sink = delta_at(spark_location(parse_location(tables[0].location)))
        return replace(sink, named_by="the event log") if is_logged else sink
    return NoSink(
        why=f"{case.outputs[0].display_name} is no Delta table",
        how="Name the program with --code FILE: it says what writes the rows.",
        is_certain=False,
    )


def _with_log(found: NoSink, case: Case) -> NoSink:
    """Add what the event log says of a sink that is not known."""
    history = history_of(case)
    newest = None if history is None else history.newest
    if found.is_certain or newest is None or newest.sink is None:
        return found
    return replace(found, how=f"The event log says {newest.sink}. {found.how}")


def _suggest_stream(request: AdoptionRequest, program: Program, case: Case) -> Suggested | None:
    known: dict[str, str | None] = {}
    if isinstance(program, ProgramOfStream):
        known["the query's name in the program"] = program.query_name
    history = history_of(case)
    if history is not None and history.newest is not None:
        known["the query's name in the event log"] = history.newest.name
    return suggest_stream(request.stream, known, case.checkpoint.location)


def _find_taken(found: PlainStream, looks: DiagnoseRequest) -> str | None:
    case = found.case
    metadata = case.checkpoint.metadata
    if case.flow is not None:
        return "it is a checkpoint of Spark Declarative Pipelines, which starts its flows itself"
    if case.record is not None:
        return f"{case.record.stream} is guarded already: its record is beside the checkpoint"
    if not isinstance(metadata, QueryMetadata):
        return "it has no metadata with a query id, so that no sink could recognise its batches"
    if not found.is_named:
        return None
    own = (case.checkpoint.location, metadata.query_id)
    try:
        return find_taken(found.root.value, found.stream.value, own=own, options=looks.options)
    except RecordError as error:
        return f"{error.what} {error.why}".rstrip(".")
