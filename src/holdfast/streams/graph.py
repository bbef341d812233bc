"""How streams hang together: who reads what another writes, found from their plans."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import ConfigError
from holdfast.spark.port import port_of
from holdfast.storage.location import normal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One stream of a pipeline."""

    name: str
    reads: tuple[str, ...]
    """Locations of the tables that its streams come from."""
    writes: tuple[str, ...]
    """Locations that its sinks write to, as people write them."""
    tables: tuple[str, ...]
    """The identities of its sinks, in the same order."""
    appends: tuple[str, ...]
    """Those of the identities that it appends to, so that no other stream may."""
    unknown: str = ""
    """Why it is not known what it reads; empty when it is known."""


def find_reads(df: DataFrame) -> tuple[str, ...]:
    """Return the locations that a streaming DataFrame reads; those of topics have none."""
    paths = port_of(df.sparkSession).find_reads(df)
    return tuple(dict.fromkeys(map(normal, paths)))


def find_edges(nodes: Mapping[str, Node]) -> dict[str, tuple[str, ...]]:
    """Return, for each stream, those that read what it writes.

    Raises:
        ConfigError: Two streams append to one table, or streams read each other in a circle.
    """
    for node, other in combinations(nodes.values(), 2):
        shared = {*node.appends, *other.appends} & set(node.tables) & set(other.tables)
        if shared:
            table = node.writes[node.tables.index(min(shared))]
            raise ConfigError(
                f"The streams {node.name} and {other.name} both write to {table}: rows "
                "appended by one could not be told from the other's. Give each its own table."
            )
    edges = {
        name: tuple(other.name for other in nodes.values() if set(node.writes) & set(other.reads))
        for name, node in nodes.items()
    }
    _refuse_circle(edges)
    return edges


def _refuse_circle(edges: Mapping[str, tuple[str, ...]]) -> None:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        # Its nodes each before those they follow from, the first one twice.
        circle: list[str] = error.args[1][:0:-1]
        at = circle.index(min(circle, key=list(edges).index))
        told = " -> ".join([*circle[at:], *circle[: at + 1]])
        raise ConfigError(f"These streams read each other in a circle: {told}.") from None


def draw(nodes: Mapping[str, Node], edges: Mapping[str, tuple[str, ...]]) -> str:
    """Return the streams as lines: each below what it reads from, with what it writes.

    One that reads from several is drawn below the first, and only named below the others.
    """
    below = {following for each in edges.values() for following in each}
    waiting = [(name, 0) for name in reversed(list(nodes)) if name not in below]
    lines: list[str] = []
    drawn: set[str] = set()
    while waiting:
        name, indent = waiting.pop()
        lead = "  " * indent + ("└ " if indent else "")
        if name in drawn:
            lines.append(f"{lead}{name}  (above)")
            continue
        drawn.add(name)
        note = f"  (what it reads is unknown: {nodes[name].unknown})" if nodes[name].unknown else ""
        lines.append(f"{lead}{name}  →  {', '.join(nodes[name].writes) or 'nothing named'}{note}")
        waiting += [(following, indent + 1) for following in reversed(edges[name])]
    return "\n".join(lines)
