"""Which streams below a root read what another one writes, from their records alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from graphlib import CycleError, TopologicalSorter

import msgspec

from holdfast.errors import ConfigError, HoldfastError, LocationError
from holdfast.record.contracts import Contract, read_contract
from holdfast.record.generations import current_generation
from holdfast.record.last_run import last_run_of
from holdfast.record.layout import HOME, is_stream_name
from holdfast.storage.below import SubdirReader
from holdfast.storage.location import parse_location
from holdfast.storage.read import Reader

_AT_ONCE = 16
_IN_BRACKETS = re.compile(r"[A-Za-z]+\[(?P<place>.+)\]")
_TABLE = re.compile(r"delta\.`(?P<place>[^`]+)`")


class StreamEdges(msgspec.Struct, frozen=True, kw_only=True):
    """What a stream reads and writes."""

    stream: str
    reads: frozenset[str]
    writes: frozenset[str]
    has_topics: bool = False
    """Whether a source has no place, so that a broker must be asked how far back it goes."""
    unknown: str = ""
    """Why that is not known; empty when it is."""


def read_edges(root: Reader) -> dict[str, StreamEdges]:
    """Return what every stream below a root reads and writes, by its name.

    Raises:
        ReadError: The root cannot be listed.
    """
    names = [name for name in root.list(HOME).directories if is_stream_name(name)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return {each.stream: each for each in pool.map(lambda name: _edges(root, name), names)}


def _edges(root: Reader, stream: str) -> StreamEdges:
    nothing = StreamEdges(stream=stream, reads=frozenset(), writes=frozenset())
    record = SubdirReader(root, f"{HOME}/{stream}")
    try:
        current = current_generation(record)
        run = None if current is None else last_run_of(record, current)
        contract = None if run is None else read_contract(record, run.contract)
    except HoldfastError as error:
        return StreamEdges(
            stream=stream, reads=frozenset(), writes=frozenset(), unknown=f"{error.why}"
        )
    if contract is None:
        return nothing
    reads = tuple(read_places(contract))
    return StreamEdges(
        stream=stream,
        has_topics=len(reads) < len(contract.sources),
        reads=frozenset(reads),
        writes=frozenset(_normal(each.place) for each in contract.sink_places),
    )


def read_places(contract: Contract) -> Iterator[str]:
    """Yield the places that the sources of a contract read; a topic has none."""
    for number, name in enumerate(contract.sources):
        options = contract.source_options[number] if contract.source_options else {}
        found = options.get("path")
        if found is None:
            matched = _IN_BRACKETS.fullmatch(name) or _TABLE.fullmatch(name)
            found = matched["place"] if matched else None
        if found is not None:
            yield _normal(found)


def _normal(place: str) -> str:
    try:
        return str(parse_location(place))
    except LocationError:
        return place


def find_sharing(
    edges: Mapping[str, StreamEdges], places: Iterable[str], *, without: Collection[str]
) -> tuple[str, ...]:
    """Return the streams that write to one of these places too.

    Args:
        edges: Of every stream below the root.
        places: Whose rows are taken away.
        without: The streams that are known to.
    """
    taken = {_normal(each) for each in places}
    return tuple(
        each.stream for each in edges.values() if each.stream not in without and each.writes & taken
    )


def find_downstream(edges: Mapping[str, StreamEdges], stream: str) -> tuple[str, ...]:
    """Return the streams that read what a stream writes, directly or not, in the order of the data.

    Raises:
        ConfigError: Streams read each other in a circle.
    """
    readers: dict[str, list[str]] = {}
    for each in edges.values():
        for place in each.reads:
            readers.setdefault(place, []).append(each.stream)
    follows: dict[str, set[str]] = {}
    waiting = [stream]
    while waiting:
        name = waiting.pop()
        if name in follows:
            continue
        writes = edges[name].writes if name in edges else frozenset()
        follows[name] = {after for place in writes for after in readers.get(place, ())}
        waiting += sorted(follows[name], reverse=True)
    before: dict[str, set[str]] = {name: set() for name in follows}
    for name, after in follows.items():
        for later in sorted(after):
            before[later].add(name)
    try:
        waits_for = {name: sorted(before[name]) for name in sorted(before)}
        order = tuple(TopologicalSorter(waits_for).static_order())
    except CycleError as error:
        raise ConfigError(f"These streams read each other in a circle: {error.args[1]}.") from error
    return tuple(name for name in order if name != stream)
