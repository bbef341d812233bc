"""When each batch of a guarded stream in this process reached the points of the protocol."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

from holdfast import points
from holdfast.sinks import collect
from holdfast.spark.classic import plan
from holdfast.streams.batches import BatchWriter

BEGAN, ENDED = "began", "ended"
OPTIMISING, OPTIMISED = "optimising", "optimised"
"""Spark optimises the plan when it is first asked for it, and its job uses the result."""
COLLECTING, COLLECTED = "collecting", "collected"
_CALL = "__call__"


class CountingReader:
    """A reader that counts what it is asked for."""

    def __init__(self, reader: Any, counts: Counter[str]) -> None:
        self._reader = reader
        self._counts = counts

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._reader, name)
        if callable(found):
            self._counts[name] += 1
        return found


class Spans:
    """Listens to the points while it is open; one entry per batch."""

    def __init__(self) -> None:
        self.batches: list[dict[str, float]] = []
        self.requests: list[Counter[str]] = []
        self._call = BatchWriter.__call__
        self._collected = collect.collected
        self._optimised = plan.optimised

    def __enter__(self) -> Self:
        spans = self

        def call(writer: BatchWriter, batch: Any, number: int) -> None:
            spans.batches.append({})
            spans.requests.append(Counter())
            counting: Any = CountingReader(writer.checkpoint, spans.requests[-1])
            spans.mark(BEGAN)
            spans._call(replace(writer, checkpoint=counting), batch, number)
            spans.mark(ENDED)

        @contextmanager
        def collected(batch: Any, *, budget: int) -> Iterator[Any]:
            spans.mark(COLLECTING)
            with spans._collected(batch, budget=budget) as batches:
                spans.mark(COLLECTED)
                yield batches

        def optimised(df: Any) -> Any:
            spans.mark(OPTIMISING)
            found = spans._optimised(df)
            spans.mark(OPTIMISED)
            return found

        setattr(BatchWriter, _CALL, call)
        collect.collected = collected
        plan.optimised = optimised
        points.listen(self.mark)
        return self

    def __exit__(self, *_: object) -> None:
        setattr(BatchWriter, _CALL, self._call)
        collect.collected = self._collected
        plan.optimised = self._optimised
        points.listen(None)

    def mark(self, point: str) -> None:
        """Write down that the newest batch is at a point now."""
        if self.batches:
            self.batches[-1][point] = time.perf_counter()
