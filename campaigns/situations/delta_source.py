"""Situations of a Delta source: history that is gone, changes that are no appends, other tables."""

from __future__ import annotations

import shutil
from dataclasses import replace

from campaigns.situations.delta_streams import ROWS, DeltaStream, begin
from campaigns.situations.situation import Bench, Shown, Situation


def _elsewhere(stream: DeltaStream) -> DeltaStream:
    """Return the stream on a copy of its source: Spark has not read that path before."""
    shutil.copytree(stream.source, stream.place / "other")
    return replace(stream, source=stream.place / "other")


def recreated(bench: Bench) -> Shown:
    """Another table is where the source was."""
    stream = begin(bench)
    stream.feed(0)
    healthy = stream.look()
    other = replace(stream, source=bench.place / "other")
    other.add(1)
    return other.restart(healthy, 2)


def _clean(stream: DeltaStream, before: int) -> DeltaStream:
    """Return the stream on a copy of its source that lacks the oldest commits."""
    cleaned = _elsewhere(stream)
    for version in range(before):
        for name in (f"{version:020d}.json", f".{version:020d}.json.crc"):
            (cleaned.source / "_delta_log" / name).unlink()
    return cleaned


def _begin_with_checkpoints(bench: Bench) -> DeltaStream:
    """Return a stream that has read version 0 of a table; every later one has a checkpoint."""
    stream = begin(bench)
    stream.add(0)
    stream.sql("ALTER TABLE {source} SET TBLPROPERTIES ('delta.checkpointInterval' = '1')")
    stream.run()
    return stream


def log_cleaned(bench: Bench) -> Shown:
    """The stream was down until the commits that it needs were deleted."""
    stream = _begin_with_checkpoints(bench)
    healthy = stream.look()
    stream.add(1)
    stream.add(2)
    return _clean(stream, 3).restart(healthy, 3)


def last_batch_cleaned(bench: Bench) -> Shown:
    """Commits were deleted that the last batch has read; the new one is there."""
    stream = _begin_with_checkpoints(bench)
    stream.feed(1)
    healthy = stream.look()
    stream.add(2)
    return _clean(stream, 3).restart(healthy, 3)


def vacuumed(bench: Bench) -> Shown:
    """OPTIMIZE and VACUUM ran while the stream was down."""
    stream = begin(bench)
    stream.feed(0)
    healthy = stream.look()
    stream.add(1)
    stream.add(2)
    check = "spark.databricks.delta.retentionDurationCheck.enabled"
    bench.spark.conf.set(check, "false")
    stream.sql("OPTIMIZE {source}")
    stream.sql("VACUUM {source} RETAIN 0 HOURS")
    bench.spark.conf.unset(check)
    return stream.restart(healthy, 3)


def updated(bench: Bench) -> Shown:
    """A row of the source was updated."""
    stream = begin(bench)
    stream.feed(0)
    healthy = stream.look()
    stream.sql("UPDATE {source} SET id = id + 100 WHERE id = 1")
    return stream.restart(healthy, 1)


def skipped(bench: Bench) -> Shown:
    """A row of the source was updated, and the stream skips such versions."""
    stream = begin(bench, options=(("skipChangeCommits", "true"),))
    stream.feed(0)
    healthy = stream.look()
    stream.sql("UPDATE {source} SET id = id + 100 WHERE id = 1")
    stream.feed(1)
    rows = [(number,) for number in range(2 * ROWS)]
    return stream.show(healthy, [*rows, (101,)])


def column_added(bench: Bench) -> Shown:
    """A column was added to the source."""
    stream = begin(bench)
    stream.feed(0)
    healthy = stream.look()
    stream.sql("ALTER TABLE {source} ADD COLUMN note STRING")
    stream.add(1)
    return stream.restart(healthy, 2)


def column_dropped(bench: Bench) -> Shown:
    """A column of the source was dropped, by column mapping."""
    stream = begin(bench)
    stream.add(0)
    stream.sql("ALTER TABLE {source} ADD COLUMN note STRING")
    stream.sql("ALTER TABLE {source} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    stream.run()
    healthy = stream.look()
    stream.add(1)
    stream.sql("ALTER TABLE {source} DROP COLUMN note")
    return stream.restart(healthy, 2)


def restored(bench: Bench) -> Shown:
    """A deleted part of the source was brought back with RESTORE."""
    stream = begin(bench, options=(("ignoreDeletes", "true"),))
    stream.feed(0)
    stream.sql("DELETE FROM {source}")
    stream.feed(1)
    healthy = stream.look()
    stream.sql("INSERT INTO {source} VALUES (6), (7), (8)")
    stream.sql("DELETE FROM {source} WHERE id < 6")
    stream.run()
    stream.sql("RESTORE TABLE {source} TO VERSION AS OF 3")
    return stream.restart(healthy, 3)


def old_copy(bench: Bench) -> Shown:
    """An older copy of the source was put in its place, and written to."""
    stream = begin(bench)
    stream.feed(0)
    older = _elsewhere(stream)
    stream.feed(1, 2)
    healthy = stream.look()
    older.add(3)
    return older.restart(healthy, 4)


SITUATIONS = (
    Situation(name="delta-source-recreated", code="HF340", make=recreated),
    Situation(name="delta-source-log-cleaned", code="HF341", make=log_cleaned),
    Situation(name="delta-source-last-batch-cleaned", code="HF341", make=last_batch_cleaned),
    Situation(name="delta-source-vacuumed", code="HF342", make=vacuumed),
    Situation(name="delta-source-updated", code="HF343", make=updated),
    Situation(name="delta-source-skipped", code="HF344", make=skipped),
    Situation(name="delta-source-column-added", code="HF345", make=column_added),
    Situation(name="delta-source-column-dropped", code="HF346", make=column_dropped),
    Situation(name="delta-source-restored", code="HF347", make=restored),
    Situation(name="delta-source-old-copy", code="HF348", make=old_copy),
)
