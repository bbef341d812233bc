"""Situations of a plain Delta sink: batches that it holds, skips, lost or takes twice."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from pyspark.sql import DataFrame

from campaigns.situations.delta_streams import ROWS, DeltaStream, Write, begin
from campaigns.situations.situation import Bench, Shown, Situation
from holdfast.rules import Finding


def offset_deleted(bench: Bench) -> Shown:
    """A batch reached the sink, and its offset entry was deleted before the restart."""
    stream = begin(bench)
    stream.feed(0, 1)
    stream.forget("commits/1")
    healthy = stream.look()
    stream.forget("offsets/1")
    return stream.restart(healthy, 3, before=lambda: stream.add(2))


def old_copy(bench: Bench) -> Shown:
    """An older copy of the checkpoint was restored."""
    stream = begin(bench)
    stream.feed(0)
    backup = bench.place / "backup"
    shutil.copytree(stream.checkpoint, backup)
    stream.feed(1, 2)
    healthy = stream.look()
    shutil.rmtree(stream.checkpoint)
    shutil.copytree(backup, stream.checkpoint)
    return stream.restart(healthy, 4, before=lambda: stream.add(3))


def clone_ahead(bench: Bench) -> Shown:
    """A copy of the checkpoint ran into the same table and is two batches ahead."""
    stream = begin(bench)
    stream.feed(0)
    healthy = stream.look()
    stream.clone().feed(1, 2)
    return stream.restart(healthy, 4, before=lambda: stream.add(3))


def clone_interleaved(bench: Bench) -> Shown:
    """A copy of the checkpoint took a batch number first; the original's batch was skipped."""
    stream = begin(bench)
    stream.feed(0)
    healthy = stream.look()
    stream.clone().feed(1)
    stream.feed(2)
    return stream.restart(healthy, 4, before=lambda: stream.add(3))


def restored(bench: Bench) -> Shown:
    """RESTORE undid the last batch of the sink."""
    stream = begin(bench)
    stream.feed(0, 1, 2)
    healthy = stream.look()
    stream.sql("RESTORE TABLE {sink} TO VERSION AS OF 1")
    return stream.restart(healthy, 4, before=lambda: stream.add(3))


def emptied(bench: Bench) -> Shown:
    """TRUNCATE emptied the sink, and the checkpoint was kept."""
    stream = begin(bench)
    stream.feed(0, 1)
    healthy = stream.look()
    stream.sql("TRUNCATE TABLE {sink}")
    return stream.restart(healthy, 3, before=lambda: stream.add(2))


def append_with_application_id(sink: Path) -> Write:
    """Return a function that appends a batch under a fixed application id."""

    def write(rows: DataFrame, batch: int) -> None:
        marked = rows.write.format("delta").mode("append").option("txnAppId", "ingest")
        marked.option("txnVersion", batch).save(str(sink))

    return write


def fixed_application_id(bench: Bench) -> Shown:
    """A function with a fixed txnAppId gets a new checkpoint."""
    stream = begin(bench, write=append_with_application_id)
    stream.feed(0, 1)
    healthy = stream.look()
    shutil.rmtree(stream.checkpoint)
    return stream.restart(healthy, 3, before=lambda: stream.add(2))


def reset(bench: Bench) -> Shown:
    """The checkpoint was deleted, and the source is read from its beginning."""
    stream = begin(bench)
    stream.feed(0, 1)
    healthy = stream.look()
    shutil.rmtree(stream.checkpoint)
    return stream.restart(healthy, 2)


def new_query_id(bench: Bench) -> Shown:
    """The file metadata was made again while a batch was pending."""
    stream = begin(bench)
    stream.feed(0, 1)
    stream.forget("commits/1")
    healthy = stream.look()
    stream.forget("metadata")
    (stream.checkpoint / "metadata").write_text(json.dumps({"id": str(uuid4())}))
    return stream.restart(healthy, 2)


def append_unmarked(sink: Path) -> Write:
    """Return a function that appends a batch and nothing that tells which."""

    def write(rows: DataFrame, _batch: int) -> None:
        rows.write.format("delta").mode("append").save(str(sink))

    return write


def killed_after_unmarked(bench: Bench) -> Shown:
    """A function without a txnAppId had written the batch when the driver was killed."""
    stream = begin(bench, write=append_unmarked)
    stream.feed(0, 1)
    healthy = stream.look()
    stream.forget("commits/1")
    return stream.restart(healthy, 2)


def complete_reset(bench: Bench) -> Shown:
    """A complete result, after a reset that reads only what is new."""
    stream = begin(bench, totals=True, options=(("startingVersion", "0"),))
    stream.feed(0, 1)
    healthy = stream.look()
    return _restart_totals(stream, healthy)


def _restart_totals(stream: DeltaStream, healthy: tuple[Finding, ...]) -> Shown:
    shutil.rmtree(stream.checkpoint)
    later = replace(stream, options=(("startingVersion", "2"),))
    counted = Counter(number % 2 for number in range(3 * ROWS))
    return later.show(healthy, list(counted.items()), lambda: stream.add(2))


def merge_totals(sink: Path) -> Write:
    """Return a function that merges totals into a table by their key."""

    def write(rows: DataFrame, _batch: int) -> None:
        rows.limit(0).write.format("delta").mode("append").save(str(sink))
        rows.createOrReplaceTempView("totals")
        rows.sparkSession.sql(
            f"MERGE INTO delta.`{sink}` held USING totals ON held.key = totals.key "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    return write


def totals_reset(bench: Bench) -> Shown:
    """Totals are merged by key, after a reset that reads only what is new."""
    stream = begin(bench, totals=True, write=merge_totals, options=(("startingVersion", "0"),))
    stream.feed(0, 1)
    healthy = stream.look()
    return _restart_totals(stream, healthy)


def forgotten(bench: Bench) -> Shown:
    """The sink forgets transactions, and the stream was down for longer."""
    stream = begin(bench)
    stream.feed(0, 1)
    stream.forget("commits/1")
    healthy = stream.look()
    stream.sql(
        "ALTER TABLE {sink} SET TBLPROPERTIES "
        "('delta.setTransactionRetentionDuration' = 'interval 1 milliseconds')"
    )
    return stream.restart(healthy, 2)


def dropped(bench: Bench) -> Shown:
    """The sink was dropped, and the checkpoint was kept."""
    stream = begin(bench)
    stream.feed(0, 1)
    healthy = stream.look()
    shutil.rmtree(stream.sink)
    return stream.restart(healthy, 3, before=lambda: stream.add(2))


def recreated(bench: Bench) -> Shown:
    """The sink was dropped and created again, empty."""
    stream = begin(bench)
    stream.feed(0, 1)
    healthy = stream.look()
    shutil.rmtree(stream.sink)
    stream.sql("CREATE TABLE {sink} (id BIGINT) USING delta")
    return stream.restart(healthy, 3, before=lambda: stream.add(2))


def swallow(sink: Path) -> Write:
    """Return a function that catches what its write raises; batch 1 fails."""

    def write(rows: DataFrame, batch: int) -> None:
        try:
            broken = rows.selectExpr("raise_error('no') AS id") if batch == 1 else rows
            append_with_application_id(sink)(broken, batch)
        except Exception as error:  # noqa: BLE001 - this is what the situation is about
            print(type(error).__name__)

    return write


def swallowed(bench: Bench) -> Shown:
    """A function caught the error of its write, and Spark committed the batch."""
    stream = begin(bench, write=append_with_application_id)
    stream.feed(0)
    healthy = stream.look()
    failing = begin(bench, write=swallow)
    failing.feed(1, 2)
    return failing.restart(healthy, 4, before=lambda: stream.add(3))


def old_table(bench: Bench) -> Shown:
    """An older copy of the sink was put back."""
    stream = begin(bench)
    stream.feed(0)
    backup = bench.place / "backup"
    shutil.copytree(stream.sink, backup)
    stream.feed(1)
    healthy = stream.look()
    shutil.rmtree(stream.sink)
    shutil.copytree(backup, stream.sink)
    return stream.restart(healthy, 3, before=lambda: stream.add(2))


def killed_after_write(bench: Bench) -> Shown:
    """The driver was killed between the write and the commit entry."""
    stream = begin(bench)
    stream.feed(0)
    healthy = stream.look()
    stream.feed(1)
    stream.forget("commits/1")
    return stream.restart(healthy, 3, before=lambda: stream.add(2))


SITUATIONS = (
    Situation(
        name="delta-offset-deleted",
        code="HF701",
        make=offset_deleted,
        trap="The offset file of a batch that the sink holds is deleted.",
    ),
    Situation(name="delta-old-checkpoint", code="HF702", make=old_copy),
    Situation(
        name="delta-clone-ahead",
        code="HF702",
        make=clone_ahead,
        trap="A copy of the checkpoint writes into the same table.",
    ),
    Situation(name="delta-clone-interleaved", code="HF703", make=clone_interleaved),
    Situation(
        name="delta-sink-restored",
        code="HF704",
        make=restored,
        trap="RESTORE takes the sink back, and the checkpoint stays ahead.",
    ),
    Situation(name="delta-sink-truncated", code="HF705", make=emptied),
    Situation(
        name="delta-fixed-application-id",
        code="HF706",
        make=fixed_application_id,
        trap="A fixed txnAppId meets a new checkpoint.",
    ),
    Situation(name="delta-reset", code="HF707", make=reset),
    Situation(name="delta-new-query-id", code="HF709", make=new_query_id),
    Situation(name="delta-killed-unmarked", code="HF710", make=killed_after_unmarked),
    Situation(name="delta-complete-reset", code="HF711", make=complete_reset),
    Situation(
        name="delta-totals-reset",
        code="HF712",
        make=totals_reset,
        trap="State is reset under a sink that merges totals.",
    ),
    Situation(name="delta-transaction-forgotten", code="HF713", make=forgotten),
    Situation(name="delta-sink-dropped", code="HF714", make=dropped),
    Situation(name="delta-sink-recreated", code="HF714", make=recreated),
    Situation(name="delta-error-swallowed", code="HF715", make=swallowed),
    Situation(name="delta-old-table", code="HF716", make=old_table),
    Situation(name="delta-killed-after-write", code="HF718", make=killed_after_write),
)
