"""What a kind of source is: its offsets, and what can be done with it.

A kind must be able to read its offsets and to name them. Everything else has an answer here that
says what the kind lacks, so that a new one has as much support as its package gives.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from enum import Enum
from importlib import import_module
from typing import Any, ClassVar

import msgspec

from holdfast.checkpoint.unparsed import Unparsed
from holdfast.complete import StrictABC

Part = tuple[str, int]
"""One thing that a source counts for itself: a topic and a partition of it."""
ONLY: Part = ("", 0)
"""The part of a source that has a single one."""


class Amount(msgspec.Struct, frozen=True, kw_only=True):
    """How much lies between two offsets."""

    number: int
    unit: str
    """One of them: `record`, `table version`, `log entry`, `file`, `row`, `step`."""


class Behind(Enum):
    """What Spark does with an offset that is behind the one before it."""

    READS_AGAIN = "reads again"
    FAILS = "fails"


class StartTime(msgspec.Struct, frozen=True, kw_only=True):
    """When a source was first started, which is no position in it."""

    epoch_ms: int


class DescribedSource(msgspec.Struct, frozen=True, kw_only=True):
    """A source as the progress of a batch describes it, in the words of a contract."""

    name: str
    """As Spark names it in a plan: `kafka orders`, `FileSource[/in]`, `delta`."""
    options: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Those that the description tells."""


def in_brackets(description: str, name: str) -> str | None:
    """Return what a description has in brackets: of `DeltaSource[/t]`, `/t`; None of another."""
    is_named = description.startswith(f"{name}[") and description.endswith("]")
    return description[len(name) + 1 : -1] if is_named else None


class Offset(StrictABC, abstract=True):
    """How far one source has been read, as its kind writes it into the checkpoint. Immutable."""

    __slots__ = ()

    kind: ClassVar[SourceKind]

    @property
    def named(self) -> str:
        """Return the source as people know it: `kafka sensors`."""
        return self.kind.label

    @abstractmethod
    def describe(self, source: str) -> str:
        """Say how far the source is read: `at table version 12`.

        Args:
            source: Its name in the checkpoint: `0`.
        """

    @property
    def log_index(self) -> int | None:
        """The newest entry of the source's own log of files; None for a source without one."""
        return None

    @property
    def identities(self) -> tuple[str, ...]:
        """Return what the source reads, to compare two queries: `topic sensors`."""
        return ()

    @property
    def described(self) -> DescribedSource | None:
        """Return what the source reads, in the words of a contract; None when it does not tell."""
        return None

    def to_json(self) -> Any:
        """Return it as a ledger row has it; None for a kind that can only be read."""
        return None

    def numbers(self) -> Mapping[Part, int]:
        """Return what is to be read next of every part; nothing when offsets have no order."""
        return {}

    def at(self, numbers: Mapping[Part, int]) -> Offset:
        """Return the offset of the same source at other numbers.

        Raises:
            TypeError: Offsets of this kind have no order.
        """
        raise TypeError(f"offsets of {self.kind.label} have no order")

    def parts(self) -> list[tuple[Part, int]]:
        """Return the numbers of every part, sorted; nothing when it has a single one."""
        return sorted(each for each in self.numbers().items() if each[0] != ONLY)

    def measure(self, start: Offset | None, *, is_first: bool = False) -> Amount | None:
        """Say how much lies between an offset and this one; None when that cannot be told.

        Args:
            start: Where to begin.
            is_first: Whether the batch that ends here is the first one.
        """
        numbers = self.numbers()
        if start is None or type(start) is not type(self) or ONLY not in numbers:
            return None
        number = numbers[ONLY] - start.numbers()[ONLY]
        # One that went back was made again; of Delta's table the same version can have more files.
        is_known = number > 0 or (number == 0 and start == self)
        return Amount(number=number, unit=self.kind.unit) if is_known else None

    def is_lower(self, before: Offset | None) -> bool:
        """Return whether a part of it is behind another offset of the same source."""
        old = before.numbers() if type(before) is type(self) and before is not None else {}
        return any(at < old.get(part, at) for part, at in self.numbers().items())


class SourceKind(StrictABC, abstract=True):
    """One kind of source."""

    name: ClassVar[str]
    """As JSON has it: `kafka`."""
    label: ClassVar[str]
    """As people know it, where an offset does not say more: `files`."""
    unit: ClassVar[str] = "step"
    """What the numbers of an offset count, one of them."""
    behind: ClassVar[Behind | None] = None
    """What Spark does with an offset that went back; None when that is not known."""
    keeps_beginning: ClassVar[bool] = False
    """Whether the source writes once where it began: a checkpoint without that has lost it."""
    per_chunk: ClassVar[int] = 0
    """How much one chunk of a backfill reads; 0 when the source cannot be read again."""
    parts_unit: ClassVar[str] = "positions"
    """What the numbers of an offset are called in a plan."""
    starting_options: ClassVar[tuple[str, ...]] = ()
    """Options that say where a new checkpoint begins; without them it reads everything."""
    reads_from_the_first: ClassVar[bool] = False
    """Whether a new checkpoint reads everything that the source has."""
    seeds_oldest: ClassVar[bool] = False
    """Whether a new checkpoint must be told where the oldest record is."""
    takes_position: ClassVar[bool] = False
    """Whether a new checkpoint can begin at a position that is given."""
    asks: ClassVar[str] = ""
    """The function that asks it, as `module:function`: it takes a `Question` and gives a
    `SourceProbe`. Empty when it cannot be asked."""
    ranges: ClassVar[str] = ""
    """The function that gives a `SourceRange`, or why there is none: it takes the reader of the
    checkpoint, the source, `start` and `end`. Empty when it cannot be read again."""
    continues_by_offset: ClassVar[bool] = False
    """Whether an offset alone says where to read on, so that nothing else of a checkpoint is needed
    to continue a query without state."""
    asked_at_start: ClassVar[bool] = False
    """Whether a guarded start asks it by what the offset and the recorded options say."""
    is_known: ClassVar[bool] = True
    """Whether Holdfast understands its offsets."""

    @abstractmethod
    def parse(self, text: str) -> Offset | None:
        """Read an offset; None when the text is not one of this kind."""

    def describe_source(self, description: str) -> DescribedSource | None:
        """Return what a source reads, from its description in the progress of a batch.

        None when it is not of this kind, or does not say what it reads.
        """
        return None

    def parse_beginning(self, path: str, raw: bytes) -> Offset | StartTime | Unparsed | None:
        """Read the file that says where the first run began; None when it is not of this kind.

        Args:
            path: Below the checkpoint.
            raw: What it holds.
        """
        return None

    def parse_position(self, value: object, known: Offset) -> Offset | None:
        """Return the position that people wrote; None when it is not one of this source.

        Args:
            value: What they wrote, as JSON.
            known: Where the stream is.
        """
        return None

    def example(self, known: Offset) -> str:
        """Say how a position is written: `a version of the Delta table, such as 12`."""
        return f"a position of {self.label}"

    def by_options(self, options: Mapping[str, str], known: Offset) -> Offset | None:
        """Return where options let a new checkpoint begin; None when they do not tell.

        Args:
            options: Those that a contract keeps.
            known: Where the stream is.
        """
        return None


def load(name: str) -> Any:
    """Return a function of a kind, which is imported when it is used: `module:function`."""
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)
