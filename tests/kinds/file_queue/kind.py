"""A queue in a file: its offsets, what it can still give, and how a range is read again.

    {"queue":"<path of the file>","next":7}

A line of the file is `<number> <text>`. Old lines may be gone; numbers never repeat.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

from holdfast.checkpoint.text import parse_json_object, whole_number
from holdfast.sources.kind import ONLY, Offset, Part, SourceKind
from holdfast.sources.probe import Found, Question, SourceProbe
from holdfast.sources.ranges import SourceRange, join_intervals
from holdfast.sources.reading import Make, NoBatchForm, Opening
from holdfast.storage.read import Reader


class FileQueue(SourceKind):
    """Queues in files."""

    name = "file-queue"
    label = "queue in a file"
    unit = "message"
    per_chunk = 10
    parts_unit = "messages"
    takes_position = True
    asks = f"{__name__}:ask_queue"
    ranges = f"{__name__}:queue_range"
    asked_at_start = True

    def parse(self, text: str) -> QueueOffset | None:
        """Read an offset of a queue."""
        found = parse_json_object(text) or {}
        queue, number = found.get("queue"), whole_number(found.get("next"))
        if not isinstance(queue, str) or number is None:
            return None
        return QueueOffset(queue=queue, next=number)

    def parse_position(self, value: object, known: Offset) -> Offset | None:
        """Read the number of a message."""
        number = whole_number(value)
        return None if number is None or number < 0 else known.at({ONLY: number})

    def example(self, known: Offset) -> str:
        """Say what is counted."""
        return "the number of a message, such as 12"


FILE_QUEUE = FileQueue()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOffset(Offset):
    """The next message to read."""

    kind: ClassVar[SourceKind] = FILE_QUEUE
    queue: str
    next: int

    @property
    def named(self) -> str:
        """Name the file."""
        return f"queue {posixpath.basename(self.queue)}"

    def describe(self, source: str) -> str:
        """Name the message."""
        return f"at message {self.next:,}"

    @property
    def identities(self) -> tuple[str, ...]:
        """Return the file."""
        return (f"queue {self.queue}",)

    def to_json(self) -> dict[str, Any]:
        """Return it as the source writes it."""
        return {"queue": self.queue, "next": self.next}

    def numbers(self) -> Mapping[Part, int]:
        """Return the number of the message."""
        return {ONLY: self.next}

    def at(self, numbers: Mapping[Part, int]) -> QueueOffset:
        """Return it at another message."""
        return replace(self, next=numbers[ONLY])


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFound(Found):
    """What a queue still has."""

    display_name: str
    oldest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRange(SourceRange):
    """Messages from the first up to but not including the last."""

    queue: str
    first: int
    last: int

    @property
    def is_empty(self) -> bool:
        """Whether no message is in it."""
        return self.last <= self.first

    @property
    def records(self) -> int:
        """How many messages there are."""
        return self.last - self.first

    def given(self, end: Offset) -> tuple[object, object]:
        """Return the numbers of the messages."""
        return self.first, self.last

    def merge(self, others: Sequence[SourceRange]) -> Sequence[SourceRange] | None:
        """Join the numbers."""
        queues = [each for each in others if isinstance(each, QueueRange)]
        if len({each.queue for each in queues}) > 1:
            return None
        joined = join_intervals((each.first, each.last) for each in queues)
        return [replace(self, first=first, last=last) for first, last in joined]

    def open(self, opening: Opening) -> Make | NoBatchForm:
        """Read the messages with their numbers."""
        lines = (line.split(maxsplit=1) for line in Path(self.queue).read_text().splitlines())
        rows = [(int(at), text) for at, text in lines if self.first <= int(at) < self.last]
        if len(rows) < self.records:
            return NoBatchForm(f"messages of {self.queue} are gone")
        return lambda: opening.spark.createDataFrame(rows, "number long, text string")


def ask_queue(question: Question) -> SourceProbe:
    """Read the queue."""
    needed = question.needed
    assert isinstance(needed, QueueOffset)
    home, name = posixpath.split(needed.queue)
    raw = question.looks.open(home).read(name)
    if raw is None:
        return question.not_probed(f"{needed.queue} is not there")
    numbers = [int(line.split()[0]) for line in raw.decode().splitlines()]
    found = QueueFound(display_name=needed.named, oldest=min(numbers, default=0))
    lost = found.oldest > needed.next
    return SourceProbe(
        source=question.source,
        display_name=needed.named,
        found=found,
        lossless_for=timedelta(0) if lost else None,
        lossless_by=f"the oldest message is {found.oldest}" if lost else "",
    )


def queue_range(
    reader: Reader, source: str, *, start: Offset | None, end: Offset
) -> SourceRange | str:
    """Return the messages in between."""
    assert isinstance(end, QueueOffset)
    first = start.numbers()[ONLY] if start is not None else 0
    return QueueRange(queue=end.queue, first=first, last=end.next)
