"""What a plain stream writes: found from what was named, or from Spark's event log.

No record says which sinks it has. A Delta table and a PostgreSQL table are brought to a named state
by a step that knows whether it was done. A directory of Spark's file sink is held and filled again.
What else there is, is left to a person, by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.errors import ConfigError
from holdfast.evidence.case import Case
from holdfast.evidence.outputs.delta import DeltaOutput
from holdfast.evidence.outputs.files import FileOutput
from holdfast.evidence.outputs.output import NotRead, Output
from holdfast.judgement.outputs import read_output
from holdfast.record.contracts import SinkContract
from holdfast.sinks.plain.sink import PlainDelta, PlainPostgres
from holdfast.storage.location import Location, parse_location

_TABLE = re.compile(r"(?P<secret>(env|file):[^#]+)#(?P<table>.+)")
_NAMED = re.compile(r"(?P<stream>[a-z0-9][a-z0-9-]{0,62})=(?P<sink>.+)", re.DOTALL)
_IN_LOG = re.compile(r"(DeltaSink|FileSink)\[(?P<place>.+)\]")


class GivenSinks(msgspec.Struct, frozen=True, kw_only=True):
    """The sinks of one stream, as `--sink` names them."""

    places: tuple[str, ...] = ()
    """Tables and directories, by location."""
    tables: tuple[str, ...] = ()
    """Tables of PostgreSQL: `env:NAME#TABLE`."""


class OutputDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """The output of Spark's file sink."""

    location: Location
    output: FileOutput


class PlainOutputs(msgspec.Struct, frozen=True, kw_only=True):
    """What a plain stream writes."""

    sinks: tuple[SinkContract, ...] = ()
    directories: tuple[OutputDirectory, ...] = ()
    by_hand: tuple[str, ...] = ()
    """What Holdfast cannot change, one sentence each."""


def sinks_of(stream: str, given: Iterable[str], *, is_first: bool) -> GivenSinks:
    """Return the sinks that were named for a stream.

    Args:
        stream: Its name.
        given: `LOCATION`, `env:NAME#TABLE`, or either after `STREAM=`.
        is_first: Whether what names no stream is meant for this one.
    """
    places: list[str] = []
    tables: list[str] = []
    for text in given:
        named = _NAMED.fullmatch(text)
        if (named["stream"] == stream) if named else is_first:
            sink = named["sink"] if named else text
            (tables if _TABLE.fullmatch(sink) else places).append(sink)
    return GivenSinks(places=tuple(places), tables=tuple(tables))


def absolute_sink(text: str) -> str:
    """Return a sink as `--sink` names it, in words that mean the same in any working directory.

    Raises:
        LocationError: It holds credentials, or cannot be read: a plan does not keep it.
    """
    named = _NAMED.fullmatch(text)
    stream, sink = (f"{named['stream']}=", named["sink"]) if named else ("", text)
    return text if _TABLE.fullmatch(sink) else f"{stream}{parse_location(sink)}"


def add_logged_sink(case: Case, options: Mapping[str, str]) -> Case:
    """Return a case with the sink that the event log names, when none was given."""
    newest = getattr(case.event_log, "newest", None)
    named = _IN_LOG.fullmatch((newest and newest.sink) or "")
    if case.outputs or named is None:
        return case
    return replace(case, outputs=(read_output(named["place"], options),))


def find_outputs(case: Case, given: GivenSinks) -> PlainOutputs:
    """Return what a plain stream writes, as far as it was named or is in the event log."""
    metadata = case.checkpoint.metadata
    query = metadata.query_id if isinstance(metadata, QueryMetadata) else ""
    tables = dict.fromkeys(given.tables)  # each once, however often it was named
    found = PlainOutputs(sinks=tuple(_table(each).describe() for each in tables))
    for output in case.outputs:
        found = _add(found, output, query)
    if found == PlainOutputs():
        found = PlainOutputs(by_hand=(_unknown(case),))
    return found


def _table(text: str) -> PlainPostgres:
    matched = _TABLE.fullmatch(text)
    if matched is None:
        raise ConfigError(f"--sink {text} is not env:NAME#TABLE.")
    return PlainPostgres(matched["secret"], table=matched["table"])


def _add(found: PlainOutputs, output: Output, query: str) -> PlainOutputs:
    match output:
        case DeltaOutput():
            is_native = output.streamed(query) or query in output.remembered
            sink = PlainDelta(path=output.location, query_id=query if is_native else "").describe()
            return found if sink in found.sinks else replace(found, sinks=(*found.sinks, sink))
        case FileOutput():
            directory = OutputDirectory(location=parse_location(output.location), output=output)
            if any(each.location == directory.location for each in found.directories):
                return found
            return replace(found, directories=(*found.directories, directory))
        case NotRead():
            what = f"{output.display_name} is not looked at ({output.why})"
        case _:
            what = f"{output.display_name} is of a kind that Holdfast cannot change"
    return replace(found, by_hand=(*found.by_hand, what))


def _unknown(case: Case) -> str:
    newest = getattr(case.event_log, "newest", None)
    named = "" if newest is None or newest.sink is None else f" (the event log says {newest.sink})"
    return f"what the stream writes is not known{named}; name it with --sink STREAM=WHERE"


def holds_batch(case: Case, query: str, batch: int) -> bool | None:
    """Return whether every output holds a batch of a query; None when one of them cannot tell."""
    known = [_holds(each, query, batch) for each in case.outputs]
    if not known or None in known:
        return None
    return all(known)


def skips_batch(case: Case, query: str, batch: int) -> bool | None:
    """Return whether an output leaves out a batch of this number; None when that is not known.

    Spark's own sinks leave out a batch that they have, whatever it reads now.
    """
    known = [_holds(each, query, batch) for each in case.outputs]
    if True in known:
        return True
    is_looked_at = known and not any(isinstance(each, NotRead) for each in case.outputs)
    return False if is_looked_at else None


def _holds(output: Output, query: str, batch: int) -> bool | None:
    match output:
        case DeltaOutput() if output.streamed(query):
            newest = output.last_batch(query)
        case FileOutput(has_log=True):
            newest = output.newest
        case _:
            return None
    return newest is not None and newest >= batch


def find_fixed_application(case: Case, query: str) -> str | None:
    """Return an application id that a user's code sets in a Delta table; None without one.

    Delta leaves out a write whose number is not higher than the one it has of the application. So
    batches that run again under such an id are skipped without an error.
    """
    for output in case.outputs:
        if not isinstance(output, DeltaOutput):
            continue
        apps = dict.fromkeys(app for each in output.commits for app in each.transactions)
        for app in (*apps, *output.remembered):
            is_native = any(
                app in each.transactions and each.is_streaming for each in output.commits
            )
            if app != query and not app.startswith("holdfast/") and not is_native:
                return app
    return None
