"""How streams hang together: who reads what another writes, found from their plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.errors import ConfigError, LocationError
from holdfast.storage.location import parse_location
from holdfast.streams.describe import walk_streaming


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One stream of a pipeline."""

    name: str
    reads: tuple[str, ...]
    """Locations of the tables that its streams come from."""
    writes: tuple[str, ...]
    """Locations that its sinks write to."""
    appends: tuple[str, ...]
    """Those of them that it appends to, so that nobody else may."""


def find_reads(df: Any) -> tuple[str, ...]:
    """Return the locations that a streaming DataFrame reads; those of topics have none."""
    plan = df._jdf.queryExecution().analyzed()  # noqa: SLF001 - Python has no other way
    found = []
    for node in walk_streaming(plan):
        if node.getClass().getSimpleName() == "StreamingRelation":
            found += list(_paths(node.dataSource()))
    return tuple(dict.fromkeys(found))


def _paths(source: Any) -> Iterator[str]:
    options = source.options()
    path = options.get("path")
    table = source.catalogTable()
    if path.isDefined():
        yield normal(path.get())
    elif table.isDefined() and table.get().storage().locationUri().isDefined():
        yield normal(str(table.get().storage().locationUri().get()))


def normal(location: str) -> str:
    """Return a location in one form; text that is none, as it is."""
    try:
        return str(parse_location(location))
    except LocationError:
        return location


def find_edges(nodes: Mapping[str, Node]) -> dict[str, tuple[str, ...]]:
    """Return, for each stream, those that read what it writes.

    Raises:
        ConfigError: Two streams append to one table, or streams read each other in a circle.
    """
    for at, node in enumerate(nodes.values()):
        for other in list(nodes.values())[at + 1 :]:
            if shared := set(node.appends) & set(other.writes) | set(other.appends) & set(
                node.writes
            ):
                raise ConfigError(
                    f"The streams {node.name} and {other.name} both write to {min(shared)}: rows "
                    "appended by one could not be told from the other's. Give each its own table."
                )
    edges = {
        name: tuple(other.name for other in nodes.values() if set(node.writes) & set(other.reads))
        for name, node in nodes.items()
    }
    _refuse_circle(edges)
    return edges


def _refuse_circle(edges: Mapping[str, tuple[str, ...]]) -> None:
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            circle = " -> ".join([*path[path.index(name) :], name])
            raise ConfigError(f"These streams read each other in a circle: {circle}.")
        if name not in done:
            for following in edges[name]:
                visit(following, (*path, name))
            done.add(name)

    for name in edges:
        visit(name, ())


def draw(nodes: Mapping[str, Node], edges: Mapping[str, tuple[str, ...]]) -> str:
    """Return the streams as lines: each below what it reads from, with what it writes."""
    below = {following for each in edges.values() for following in each}
    lines: list[str] = []

    def put(name: str, indent: int) -> None:
        lead = "  " * indent + ("└ " if indent else "")
        lines.append(f"{lead}{name}  →  {', '.join(nodes[name].writes) or 'nothing named'}")
        for following in edges[name]:
            put(following, indent + 1)

    for name in nodes:
        if name not in below:
            put(name, 0)
    return "\n".join(lines)
