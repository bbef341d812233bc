"""A sink that has more and more commits, measured at some sizes beside a bare writer."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.attempts import attempts, new_row
from benchmarks.measuring import Spread, spread
from holdfast.ledger import Apply, Attempt, LedgerRow
from holdfast.ledger.store import LedgerStore
from holdfast.sinks.sink import SinkSpec, SinkWriter

STREAM = "readings"
ROWS = 100
"""Of a batch: the costs that grow are those of the commit."""
WARM = 10
"""Batches before anything is measured: a JVM that is cold takes twice as long."""


def nonce_of(epoch: int) -> str:
    """Return the nonce of the driver with an epoch."""
    return f"n{epoch}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was measured with so many commits behind."""

    size: int
    starts: Spread
    batches: Spread
    bare: Spread
    note: str = ""


class GrowingSink(ABC):
    """One sink with a stream in it, and a bare writer beside it."""

    turns = 60
    """Batches that are measured at each size."""
    starts = 7
    """Starts that are."""

    def __init__(self, sink: SinkSpec, frame: Any) -> None:
        """Open the ledger row of a stream, as its first start does.

        Args:
            sink: As a user writes it.
            frame: The streaming DataFrame, as far as the sink looks at it.
        """
        self._sink = sink
        self._frame = frame
        self.writer: SinkWriter = self._opened()
        self.writer.create()
        row = new_row(STREAM, self.writer.name)
        self.following: Iterator[Attempt] = attempts(row)
        self._epoch = 1
        assert self.ledger.replace(None, replace(row, epoch=1, nonce=nonce_of(1)))

    @property
    def ledger(self) -> LedgerStore:
        """The ledger of the newest start."""
        assert self.writer.ledger is not None
        return self.writer.ledger

    def _opened(self) -> SinkWriter:
        return self._sink.writer_for(self._frame, stream=STREAM, output_mode="append")

    @abstractmethod
    def batch(self) -> Any:
        """Return the rows of a batch, as the writer takes them."""

    @abstractmethod
    def bare(self) -> None:
        """Write the same rows without a ledger."""

    @abstractmethod
    def grow(self, size: int) -> None:
        """Have so many commits of the stream, and as many of the bare writer where they count."""

    def note(self) -> str:
        """Return what else is known at this size."""
        return ""

    def take_attempt(self) -> Attempt:
        """Return the next batch, of the driver that has started last."""
        return replace(next(self.following), epoch=self._epoch, nonce=nonce_of(self._epoch))

    def start(self) -> float:
        """Do what a start does with the sink, in the place of the driver; return the seconds."""
        self.writer.close()
        epoch = self._epoch + 1
        began = time.perf_counter()
        self.writer = self._opened()
        row = self.ledger.read(STREAM)
        assert isinstance(row, LedgerRow), row
        assert self.ledger.examine(row) is None
        self.writer.create()
        fenced = self.ledger.fence(row, epoch=epoch, nonce=nonce_of(epoch))
        took = time.perf_counter() - began
        assert fenced is not None
        self._epoch = epoch
        return took

    def write(self) -> float:
        """Write one batch with its ledger row; return the seconds."""
        batch, attempt = self.batch(), self.take_attempt()
        began = time.perf_counter()
        assert self.writer.write(attempt, batch) == Apply()
        return time.perf_counter() - began

    def write_bare(self) -> float:
        """Write one batch without; return the seconds."""
        began = time.perf_counter()
        self.bare()
        return time.perf_counter() - began

    def measure(self, size: int) -> Found:
        """Grow to a size; return what a start and a batch take there, in turns with a bare one."""
        self.grow(size)
        self.start()  # the first one after it was grown reads what a living driver knows
        note = self.note()
        starts = spread([self.start() for _ in range(self.starts)])
        for _ in range(2):
            self.write()
            self.write_bare()
        pairs = [(self.write(), self.write_bare()) for _ in range(self.turns)]
        batches, bare = (spread([pair[which] for pair in pairs]) for which in (0, 1))
        return Found(size=size, starts=starts, batches=batches, bare=bare, note=note)


def measure_sizes(sink: GrowingSink, sizes: Sequence[int]) -> list[Found]:
    """Measure a sink at each size, and print a line for each."""
    print(f"{'behind':>8}  {'a start':<30}{'a batch':<30}{'bare':<30}batch / bare", flush=True)
    measured = []
    for _ in range(WARM):
        sink.write()
        sink.write_bare()
    for size in sizes:
        found = sink.measure(size)
        measured.append(found)
        parts = (found.starts, found.batches, found.bare)
        shown = "".join(f"{part.show(1, times=1e3):<30}" for part in parts)
        times = found.batches.median / found.bare.median
        print(f"{size:>8,}  {shown}{times:<8.2f}{found.note}", flush=True)
    return measured


def judge(name: str, found: Sequence[Found], *, most_times: float) -> list[str]:
    """Print how much slower the largest size is; return what was missed.

    A batch may get slower as the bare one does, and then by so many times.
    """
    first, last = found[0], found[-1]
    starts, batches, bare = (
        getattr(last, part).median / getattr(first, part).median
        for part in ("starts", "batches", "bare")
    )
    print(
        f"  from {first.size:,} to {last.size:,}: a start x {starts:.2f}, "
        f"a batch x {batches:.2f}, a bare one x {bare:.2f}",
        flush=True,
    )
    most = most_times * max(1.0, bare)
    return [f"{name}: a batch x {batches:.2f}, not {most:.2f}"] if batches > most else []
