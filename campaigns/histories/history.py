"""A history: a stream, and what happens to it, as JSON that can be kept and played again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

Op = dict[str, Any]
"""What happens: `do` names it, the rest says how."""


@dataclass(frozen=True)
class SinkShape:
    """One sink of the stream."""

    by_key: bool = False
    sequenced: bool = False
    versions: bool = False
    """Whether its table keeps versions, as Delta does; else rows are copied aside."""


@dataclass(frozen=True)
class History:
    """One history."""

    sinks: tuple[SinkShape, ...]
    ops: tuple[Op, ...]
    is_repeatable: bool = True
    files_per_batch: int = 1
    name: str = ""
    """Where it comes from: `seed:index`."""
    notes: str = field(default="", compare=False)

    def to_json(self) -> str:
        """Return it as text, one operation on each line."""
        head = {key: value for key, value in asdict(self).items() if key != "ops"}
        lines = ",\n  ".join(json.dumps(op) for op in self.ops)
        return f'{{"history": {json.dumps(head)},\n "ops": [\n  {lines}\n]}}\n'


def from_json(text: str) -> History:
    """Return the history that a text has.

    Raises:
        KeyError, TypeError, ValueError: It is not one.
    """
    found = json.loads(text)
    head = dict(found["history"])
    head["sinks"] = tuple(SinkShape(**each) for each in head["sinks"])
    return History(ops=tuple(found["ops"]), **head)
