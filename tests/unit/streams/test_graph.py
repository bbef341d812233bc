"""How streams hang together, as values."""

from __future__ import annotations

import pytest

import holdfast as hf
from holdfast.errors import ConfigError
from holdfast.storage.location import normal
from holdfast.streams.graph import Node, draw, find_edges


def node(name: str, reads: str = "", writes: str = "", *, appends: bool = False) -> Node:
    written = tuple(writes.split())
    return Node(
        name=name,
        reads=tuple(reads.split()),
        writes=written,
        tables=written,
        appends=written if appends else (),
    )


def by_name(*nodes: Node) -> dict[str, Node]:
    return {each.name: each for each in nodes}


def test_edges_follow_from_what_is_read_and_written() -> None:
    nodes = by_name(
        node("raw", writes="r", appends=True),
        node("typed", reads="r", writes="t q", appends=True),
        node("gold", reads="t", writes="g"),
        node("alone", writes="a"),
    )
    edges = find_edges(nodes)
    assert edges == {"raw": ("typed",), "typed": ("gold",), "gold": (), "alone": ()}
    assert draw(nodes, edges).splitlines() == [
        "raw  →  r",
        "  └ typed  →  t, q",
        "    └ gold  →  g",
        "alone  →  a",
    ]


def test_two_that_append_to_one_table_are_named() -> None:
    with pytest.raises(ConfigError, match="a and b both write to t"):
        find_edges(by_name(node("a", writes="t", appends=True), node("b", writes="t")))
    with pytest.raises(ConfigError, match="a and b both write to t"):
        find_edges(by_name(node("a", writes="t"), node("b", writes="t", appends=True)))
    find_edges(by_name(node("a", writes="t"), node("b", writes="t")))


def test_a_circle_is_named_from_where_it_closes() -> None:
    nodes = by_name(
        node("in", writes="a"), node("x", reads="a c", writes="b"), node("y", reads="b", writes="c")
    )
    with pytest.raises(ConfigError, match="x -> y -> x"):
        find_edges(nodes)
    with pytest.raises(ConfigError, match="self -> self"):
        find_edges(by_name(node("self", reads="t", writes="t")))


def test_five_hundred_streams_in_a_row_are_a_graph() -> None:
    nodes = by_name(*(node(f"s{n}", reads=f"t{n}", writes=f"t{n + 1}") for n in range(500)))
    edges = find_edges(nodes)
    assert edges["s498"] == ("s499",)
    assert len(draw(nodes, edges).splitlines()) == 500


def test_spellings_of_one_place_are_one() -> None:
    assert normal("s3a://lake/raw/") == normal("s3://lake/raw")
    assert normal("file:/srv/raw") == normal("/srv/raw")
    assert normal("postgresql:public.readings") == "postgresql:public.readings"


def test_tables_of_one_name_in_two_databases_are_two() -> None:
    sinks = {name: hf.Postgres(f"env:{name}", table="gold") for name in ("HERE", "THERE")}
    nodes = [node(name, writes=sink.place, appends=True) for name, sink in sinks.items()]
    assert find_edges(by_name(*nodes)) == {"HERE": (), "THERE": ()}


def test_tables_of_two_names_in_one_database_are_two() -> None:
    sinks = {name: hf.Postgres("env:HERE", table=name) for name in ("gold", "silver")}
    nodes = [node(name, writes=normal(sink.place)) for name, sink in sinks.items()]
    assert draw(by_name(*nodes), find_edges(by_name(*nodes))).splitlines() == [
        "gold  →  postgresql:gold@env:HERE",
        "silver  →  postgresql:silver@env:HERE",
    ]
