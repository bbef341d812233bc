"""What the guarded streams of the kills bring into their table, and what must be there when.

Batches have known rows, so that after every number of batches the table's exact content is known:
a judge and a reader compare with that, and not only with the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.sinks.postgres.attach_check import of_snapshot

ROWS_PER_BATCH = 1_000
BATCHES = 8
PARTITIONS = 2
WINDOW_S = 100

Content = list[tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A kind of query: its table, and the content of that after so many batches."""

    name: str
    """Of the function in `guarded_to_postgres` that makes the query."""
    table: str
    """Columns of the table `readings`."""
    columns: tuple[str, str]
    """In the order of the content; the second can be summed."""
    after: Callable[[int], Content]
    extra_batches: int = 0
    """Batches without data that Spark adds at the end, for the watermark."""
    after_columns: str = ""
    """What follows the columns of the table."""
    source: str = "readings"
    """What a statement reads to see the table as of its snapshot."""

    @property
    def content_query(self) -> str:
        """The statement that reads the content."""
        return f"SELECT {', '.join(self.columns)} FROM {self.source}"  # noqa: S608 - ours

    @property
    def measure_query(self) -> str:
        """The statement that reads the measure."""
        total = f"coalesce(sum({self.columns[1]}), 0)::bigint"
        return f"SELECT count(*), {total} FROM {self.source}"  # noqa: S608 - ours

    def measure(self, batches: int) -> tuple[int, int]:
        """Return number of rows and sum of the second column, after so many batches."""
        return measure_of(self.after(batches))


def measure_of(content: Content) -> tuple[int, int]:
    """Return number of rows and sum of the second column."""
    return len(content), sum(value for _, value in content)


def _rows(batches: int) -> Content:
    return [(row, row // PARTITIONS) for row in range(batches * ROWS_PER_BATCH)]


def _counts(batches: int) -> Content:
    return list(Counter(row * row % 97 for row in range(batches * ROWS_PER_BATCH)).items())


def _windows(batches: int) -> Content:
    """A window is written by the first batch that starts with its end behind the watermark."""
    watermark = (batches - 1) * ROWS_PER_BATCH - 1
    return [(start, WINDOW_S) for start in range(0, watermark - WINDOW_S + 1, WINDOW_S)]


APPENDED = Shape(
    name="appended",
    table='id bigint, "offset" bigint',
    columns=("id", '"offset"'),
    after=_rows,
)
ATTACHED = Shape(
    name="attached",
    table='id bigint, "offset" bigint, holdfast_part bigint NOT NULL',
    columns=("id", '"offset"'),
    after=_rows,
    after_columns=" PARTITION BY LIST (holdfast_part)",
    source=of_snapshot("public.readings"),
)
MERGED = Shape(
    name="merged",
    table='id bigint PRIMARY KEY, "offset" bigint',
    columns=("id", '"offset"'),
    after=_rows,
)
COUNTS = Shape(
    name="counts",
    table="key bigint PRIMARY KEY, count bigint",
    columns=("key", "count"),
    after=_counts,
)
WINDOWS = Shape(
    name="windows",
    table="start bigint, count bigint",
    columns=("start", "count"),
    after=_windows,
    extra_batches=1,
)
