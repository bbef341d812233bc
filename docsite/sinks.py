"""The tables of the page *Choosing a sink*, from what each kind of sink says of itself."""

from __future__ import annotations

from collections.abc import Iterator

import holdfast
from holdfast.sinks.choosing import Choosing
from holdfast.sinks.kinds import find_kinds
from holdfast.sinks.sink import Capability, SinkSpec

_PLANS = {
    Capability.SETTLE: "reset that empties it, undo",
    Capability.VERSIONS: "rewind that puts it back",
    Capability.CONTENTS: "`holdfast prove`",
}


def public_kinds() -> Iterator[tuple[str, type[SinkSpec]]]:
    """Yield the classes of sinks that people write, by their public names."""
    find_kinds()
    for name in holdfast.__all__:
        found = getattr(holdfast, name)
        if isinstance(found, type) and issubclass(found, SinkSpec):
            yield name, found


def _rows() -> list[tuple[str, type[SinkSpec], Choosing]]:
    return [
        (f"[`hf.{name}`]({said.page})", kind, said)
        for name, kind in public_kinds()
        if (said := kind.choosing) is not None
    ]


def sinks_table(words: list[str]) -> list[str]:
    """Return a table: `guarantee`, or what each sink `needs`."""
    if words == ["guarantee"]:
        head = ["| sink | guarantee | what a reader sees |", "| --- | --- | --- |"]
        return head + [f"| {n} | {said.guarantee} | {said.reader_sees} |" for n, _, said in _rows()]
    head = ["| sink | rights | runs on | speed | plans |", "| --- | --- | --- | --- | --- |"]
    return head + [
        f"| {name} | {said.rights} | {said.runs_on} | {said.speed} | {_plans(kind)} |"
        for name, kind, said in _rows()
    ]


def _plans(kind: type[SinkSpec]) -> str:
    """Return which plans a kind has beside those of every checkpoint."""
    if kind is holdfast.Sink:
        return "those that its methods give"
    return ", ".join(text for each, text in _PLANS.items() if each in kind.capabilities) or "-"
