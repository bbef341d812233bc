"""Remedies of guarded streams: what the ledgers give back, and what is computed again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from campaigns.remedies.remedy import Bench, CarriedOut, Remedy, diagnosed
from campaigns.remedies.streams import (
    DeltaStream,
    FileStream,
    FunctionStream,
    TotalsStream,
    copy_checkpoint,
    cut_off,
    delete,
)

BATCHES = 4
Damage = Callable[[FileStream], None]


def _after(
    damage: Damage, made: type[FileStream] = FileStream, *, goal: str = ""
) -> Callable[..., CarriedOut]:
    """Return what runs a stream of four batches, damages it and repairs it."""

    def carry_out(bench: Bench, code: str) -> CarriedOut:
        stream = made(bench)
        stream.add(BATCHES)
        stream.run()
        damage(stream)
        return stream.repair(code, goal=goal)

    return carry_out


def _old_copy(bench: Bench, code: str) -> CarriedOut:
    """Put an old copy of the checkpoint back."""
    stream = FileStream(bench)
    stream.add(2)
    stream.run()
    kept = copy_checkpoint(stream)
    stream.add(2)
    stream.run()
    shutil.rmtree(stream.checkpoint)
    kept.rename(stream.checkpoint)
    return stream.repair(code)


def _sink_restored(bench: Bench, code: str) -> CarriedOut:
    """Put an old backup of the table and its ledger back."""
    stream = FileStream(bench)
    stream.add(2)
    stream.run()
    stream.execute("CREATE TABLE kept AS TABLE readings")
    stream.execute("CREATE TABLE kept_rows AS TABLE holdfast.ledger")
    stream.add(2)
    stream.run()
    stream.execute("DELETE FROM readings; INSERT INTO readings TABLE kept")
    stream.execute("DELETE FROM holdfast.ledger; INSERT INTO holdfast.ledger TABLE kept_rows")
    return stream.repair(code)


def _table_restored(stream: FileStream) -> None:
    """Take the last two batches out of a Delta table."""
    assert isinstance(stream, DeltaStream)
    table = f"delta.`{stream.table}`"
    newest = max(int(each.stem) for each in Path(stream.table, "_delta_log").glob("*[0-9].json"))
    stream.bench.spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF {newest - 2}")


def _function_table_restored(bench: Bench, code: str) -> CarriedOut:
    """Take two batches out of the table of a function, which then names itself otherwise."""
    stream = FunctionStream(bench)
    stream.add(BATCHES)
    stream.run()
    _table_restored(stream)
    return stream.repair(code, before_start=stream.rename)


def _table_emptied(stream: FileStream) -> None:
    """Overwrite a Delta table with nothing."""
    assert isinstance(stream, DeltaStream)
    empty = stream.bench.spark.createDataFrame([], "value string")
    empty.write.format("delta").mode("overwrite").save(stream.table)


def _table_dropped(stream: FileStream) -> None:
    """Delete a Delta table, and its ledger with it."""
    assert isinstance(stream, DeltaStream)
    shutil.rmtree(stream.table)


def _table_created_again(stream: FileStream) -> None:
    """Drop a Delta table, and create it again without a row."""
    _table_dropped(stream)
    assert isinstance(stream, DeltaStream)
    stream.bench.spark.sql(f"CREATE TABLE delta.`{stream.table}` (value STRING) USING delta")


def _delete_everything(stream: FileStream) -> None:
    shutil.rmtree(stream.checkpoint)


def _delete_logs(*names: str) -> Damage:
    def damage(stream: FileStream) -> None:
        for name in names:
            shutil.rmtree(stream.checkpoint / name)

    return damage


def _delete(*paths: str) -> Damage:
    return lambda stream: delete(stream.checkpoint, *paths)


def _cut_off(path: str) -> Damage:
    return lambda stream: cut_off(stream.checkpoint, path)


def _sql(statement: str) -> Damage:
    return lambda stream: stream.execute(statement)


def _looked_at_as(spark: str) -> Callable[[FileStream], list[str]]:
    """Return what is asked of `diagnose` for another version of Spark."""
    return lambda stream: [*stream.looks, "--spark", spark]


def _oldest_gone(bench: Bench, code: str) -> CarriedOut:
    """Put an old backup of the sink back, of a batch that the checkpoint no longer has."""
    stream = FileStream(bench)
    stream.add(1)
    stream.run()
    stream.execute("CREATE TABLE kept AS TABLE readings")
    stream.execute("CREATE TABLE kept_rows AS TABLE holdfast.ledger")
    stream.add(3)
    stream.run()
    stream.execute("DELETE FROM readings; INSERT INTO readings TABLE kept")
    stream.execute("DELETE FROM holdfast.ledger; INSERT INTO holdfast.ledger TABLE kept_rows")
    delete(stream.checkpoint, "offsets/0", "commits/0")
    return stream.repair(code, goal="reset")


def _with_older_spark(
    damage: Damage, spark: str, made: type[FileStream] = FileStream
) -> Callable[..., CarriedOut]:
    """Return what damages a stream, and repairs it with what is printed for another Spark."""

    def carry_out(bench: Bench, code: str) -> CarriedOut:
        stream = made(bench)
        stream.add(BATCHES)
        stream.run()
        damage(stream)
        return stream.repair(code, command=diagnosed(_looked_at_as(spark)(stream), code))

    return carry_out


_RESUMED: dict[str, tuple[str, Damage]] = {
    "checkpoint-deleted": ("HF606", _delete_everything),
    "metadata-deleted": ("HF102", _delete("metadata")),
    "metadata-cut-off": ("HF101", _cut_off("metadata")),
    "offsets-deleted": ("HF201", _delete_logs("offsets")),
    "logs-deleted": ("HF606", _delete_logs("offsets", "commits")),
    "newest-offset-cut-off": ("HF202", _cut_off("offsets/3")),
    "newest-commit-cut-off": ("HF202", _cut_off("commits/3")),
    "previous-offset-deleted": ("HF203", _delete("offsets/2")),
    "newest-offset-deleted": ("HF207", _delete("offsets/3")),
}
_RESET: dict[str, tuple[str, Damage, type[FileStream]]] = {
    "ledger-row-deleted": ("HF601", _sql("DELETE FROM holdfast.ledger"), FileStream),
    "table-emptied": ("HF608", _sql("TRUNCATE readings"), FileStream),
    "checkpoint-with-state-deleted": ("HF606", _delete_everything, TotalsStream),
    "state-deleted": ("HF401", _delete_logs("state"), TotalsStream),
    "state-file-deleted": ("HF419", _delete("state/0/0/2.delta"), TotalsStream),
    "state-file-cut-off": ("HF418", _cut_off("state/0/0/3.delta"), TotalsStream),
    "delta-table-emptied": ("HF608", _table_emptied, DeltaStream),
    "delta-table-dropped": ("HF601", _table_dropped, DeltaStream),
    "delta-table-restored": ("HF608", _table_restored, DeltaStream),
}
REMEDIES = (
    *(
        Remedy(name=name, code=code, goal="resume", carry_out=_after(damage))
        for name, (code, damage) in _RESUMED.items()
    ),
    Remedy(name="old-checkpoint-restored", code="HF604", goal="resume", carry_out=_old_copy),
    Remedy(
        name="checkpoint-deleted-into-delta",
        code="HF606",
        goal="resume",
        carry_out=_after(_delete_everything, DeltaStream),
    ),
    *(
        Remedy(name=name, code=code, goal="reset", carry_out=_after(damage, made, goal="reset"))
        for name, (code, damage, made) in _RESET.items()
    ),
    Remedy(
        name="state-partly-written",
        code="HF423",
        goal="replay",
        carry_out=_after(_delete("state/0/0/4.delta"), TotalsStream),
    ),
    Remedy(name="sink-restored", code="HF603", goal="rewind", carry_out=_sink_restored),
    Remedy(name="sink-restored-too-old", code="HF603", goal="reset", carry_out=_oldest_gone),
    Remedy(
        name="metadata-deleted-older-spark",
        code="HF107",
        goal="resume",
        carry_out=_with_older_spark(_delete("metadata"), "4.0"),
    ),
    Remedy(
        name="logs-deleted-older-spark",
        code="HF212",
        goal="resume",
        carry_out=_with_older_spark(_delete_logs("offsets", "commits"), "4.0"),
    ),
    Remedy(
        name="delta-table-created-again",
        code="HF714",
        goal="reset",
        carry_out=_after(_table_created_again, DeltaStream),
    ),
    Remedy(
        name="function-table-restored",
        code="HF704",
        goal="rewind",
        carry_out=_function_table_restored,
    ),
)
