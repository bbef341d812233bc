"""A query's plan as Spark has analysed it, from what `explain` prints: Connect tells it only there.

    ~Join Inner, (id#1L = id#15L)
    :- ~Deduplicate [id#1L]
    :  +- StreamingRelation FileSource[/lake/in], [id#1L, k#2], name=<Unassigned>
    +- ~StreamingRelationV2 org.….KafkaSourceProvider@1a, kafka, …, [subscribe=events], [value#8]

Every line of a node begins with its depth. A text in the plan can hold a line break; what follows
it does not look like a node, and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

_BEGIN, _END = "== Analyzed Logical Plan ==", "== Optimized Logical Plan =="
_LINE = re.compile(r"((?:[: ] {2})*(?:[:+]- )?)[~'!]?([A-Z]\w*)\b(.*)")
_STEP = 3
"""Columns for each step down."""
SOURCES = ("StreamingRelation", "StreamingRelationV2")
"""The kinds of nodes that a stream comes from."""
_HOW = r"\s*(?:DataSource\(.*\), )?"
"""What Spark before 4.2 tells first: how it reads the source."""
_FILES = re.compile(_HOW + r"(\w+\[.*?\]), \[")
_V2 = re.compile(r"\s*[\w.$]+@\w+, ([\w.-]+),")
_V1 = re.compile(_HOW + r"([\w.-]+), \[")
_WATERMARK = re.compile(r"\s*(?:[0-9a-f-]{36}, )?(.+?)#\d+\w*(?:: [\w ]+)?, (.+)")


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node of a plan."""

    kind: str
    text: str
    """What follows its kind."""
    children: tuple[Node, ...]

    @property
    def is_streaming(self) -> bool:
        """Whether rows of a stream come through it."""
        return self.kind in SOURCES or any(child.is_streaming for child in self.children)


def parse_plan(explained: str) -> Node | None:
    """Return the root of the analysed plan in what `explain(extended=True)` prints; None if none.

    Args:
        explained: The whole text.
    """
    lines = analysed_text(explained).splitlines()
    found = [(len(at[1]) // _STEP, at[2], at[3]) for line in lines if (at := _LINE.fullmatch(line))]
    while found and found[0][0] != 0:
        found.pop(0)
    return _tree(found) if found else None


def analysed_text(explained: str) -> str:
    """Return the lines of the analysed plan in what `explain(extended=True)` prints.

    Args:
        explained: The whole text.
    """
    part = explained.partition(_BEGIN)[2].partition(_END)[0].strip("\n")
    return part.partition("\n")[2]  # the first line names the columns


def _tree(found: Sequence[tuple[int, str, str]]) -> Node:
    """Return the node that comes first, with everything below it."""
    depth, kind, text = found[0]
    children, at = [], 1
    while at < len(found) and found[at][0] > depth:
        end = next(
            (i for i in range(at + 1, len(found)) if found[i][0] <= found[at][0]), len(found)
        )
        children.append(_tree(found[at:end]))
        at = end
    return Node(kind=kind, text=text, children=tuple(children))


def walk_streaming(node: Node | None) -> Iterator[Node]:
    """Yield a plan's streaming nodes, each before what it reads from."""
    if node is not None and node.is_streaming:
        yield node
        for child in node.children:
            yield from walk_streaming(child)


def source_name(node: Node) -> str:
    """Return a source as Spark names it: `FileSource[/lake/in]`, `kafka`; empty if not known."""
    if node.kind == SOURCES[0]:
        found = _FILES.match(node.text) or _V1.match(node.text)
    else:
        found = _V2.match(node.text)
    return found[1] if found else ""


def watermark_of(node: Node) -> str:
    """Return the column and the delay of a watermark: `event_time 10 minutes`."""
    found = _WATERMARK.fullmatch(node.text)
    return f"{found[1]} {found[2]}" if found else node.text.strip()
