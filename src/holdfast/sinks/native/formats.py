"""Spark's own sinks by their formats: what each needs, and what none of them guarantees."""

from __future__ import annotations

import msgspec

_AFTER_A_PAUSE = "a driver that was paused and replaced can still finish its batch"


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """One format of Spark's writer."""

    needs_place: bool = False
    """Whether it writes to a path."""
    takes_table: bool = False
    """Whether it writes to a table of the catalog too."""
    is_partitioned: bool = False
    """Whether it takes columns to partition by."""
    not_guaranteed: str


_FILES = Format(
    needs_place=True,
    is_partitioned=True,
    not_guaranteed="Spark recognises a batch that it has written by its number in _spark_metadata. "
    "Only readers of that log see each row once: others also read files of batches that were "
    f"killed. A checkpoint that is replaced loses rows, and {_AFTER_A_PAUSE}",
)
FORMATS = {
    "console": Format(
        not_guaranteed="the rows are printed, perhaps more than once, and kept nowhere"
    ),
    "delta": Format(
        needs_place=True,
        takes_table=True,
        is_partitioned=True,
        not_guaranteed="Delta recognises a batch that it has by the query id and the number. A "
        "checkpoint that is replaced, copied or rewound, and a table that is restored, lose or "
        f"duplicate rows: only the next start looks for that. {_AFTER_A_PAUSE.capitalize()}",
    ),
    "kafka": Format(
        not_guaranteed="nothing in a topic tells which batches it has: a batch that was killed is "
        f"written again, and its rows are duplicated. {_AFTER_A_PAUSE.capitalize()}",
    ),
    "noop": Format(not_guaranteed="the rows are kept nowhere"),
    **dict.fromkeys(("avro", "csv", "json", "orc", "parquet", "text"), _FILES),
}
REFUSED = {
    "memory": "it keeps its rows in the driver, and every restart loses them",
    "foreach": "it takes a function: use hf.ForeachBatch(function)",
    "foreachbatch": "it takes a function: use hf.ForeachBatch(function)",
}
"""Formats of Spark that no guard makes safe, each with the reason."""
GUARDED_OPTIONS = {
    "checkpointlocation": "the guard chooses the checkpoint: use checkpoint=",
    "asyncprogresstrackingenabled": "asynchronous progress tracking leaves out entries of the "
    "checkpoint that the guard reads",
    "path": "use path=",
}
"""Options that are not the user's to set, in lower case, each with the reason."""
