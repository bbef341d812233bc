"""Situations of Spark's file sink: its log, which knows a batch by its number only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from campaigns.situations.file_streams import FileStream, setting
from campaigns.situations.situation import Bench, Shown, Situation
from holdfast.rules import Finding


def checkpoint_replaced(bench: Bench) -> Shown:
    """Start with a new checkpoint on the output of three batches."""
    stream = FileStream(bench=bench)
    stream.run_batches(range(3))
    healthy = stream.judge()
    again = replace(stream, source="new", checkpoint="checkpoint2")
    again.put("new/3.json", [3, 4])
    said = again.judge()
    return again.restart(range(5), healthy=healthy, said=said)


def output_shared(bench: Bench) -> Shown:
    """Let another query write five batches to the output of a stream with three."""
    stream = FileStream(bench=bench)
    stream.run_batches(range(3))
    healthy = stream.judge()
    other = replace(stream, source="other", checkpoint="checkpoint2")
    other.run_batches(range(10, 15))
    written = stream.rows()
    said = stream.judge()
    stream.put("in/3.json", [3])
    return stream.restart([*written, 3], healthy=healthy, said=said)


def offset_deleted(bench: Bench) -> Shown:
    """Stop before commits/3, delete offsets/3 as Spark's error advises; more data has arrived."""
    stream = FileStream(bench=bench)
    stream.run_batches(range(4))
    stream.forget("checkpoint/commits/3")
    healthy = stream.judge()
    stream.forget("checkpoint/offsets/3")
    said = stream.judge()
    stream.put("in/4.json", [4, 5])
    return stream.restart(range(6), healthy=healthy, said=said)


def checkpoint_restored(bench: Bench) -> Shown:
    """Restore a copy of the checkpoint that is two batches old."""
    stream = FileStream(bench=bench)
    stream.run_batches(range(2))
    stream.copy("checkpoint", "backup")
    stream.run_batches(range(2, 4))
    healthy = stream.judge()
    old = replace(stream, checkpoint="backup")
    said = old.judge()
    old.put("in/4.json", [4])
    return old.restart(range(5), healthy=healthy, said=said)


def _damaged(
    bench: Bench, damage: Callable[[FileStream], FileStream]
) -> tuple[tuple[Finding, ...], FileStream, tuple[Finding, ...]]:
    """Return a stream of eight batches, damaged, and what was said before and after."""
    stream = FileStream(bench=bench)
    stream.run_batches(range(8))
    healthy = stream.judge()
    broken = damage(stream)
    said = broken.judge()
    broken.put("in/8.json", [8])
    return healthy, broken, said


def _restart_damaged(bench: Bench, damage: Callable[[FileStream], FileStream]) -> Shown:
    """Restart it at the batch that compacts the log."""
    with setting(bench, compact_interval="3"):
        healthy, broken, said = _damaged(bench, damage)
        return broken.restart(range(9), healthy=healthy, said=said)


def log_deleted(bench: Bench) -> Shown:
    """Delete `_spark_metadata`."""

    def damage(stream: FileStream) -> FileStream:
        stream.remove("out/_spark_metadata")
        return stream

    return _restart_damaged(bench, damage)


def output_replaced(bench: Bench) -> Shown:
    """Give the stream another output directory."""
    return _restart_damaged(bench, lambda stream: replace(stream, out="out2"))


def output_behind(bench: Bench) -> Shown:
    """Take the newest batch out of the log."""

    def damage(stream: FileStream) -> FileStream:
        stream.forget("out/_spark_metadata/7")
        return stream

    return _restart_damaged(bench, damage)


def log_incomplete(bench: Bench) -> Shown:
    """Delete the newest compact file."""

    def damage(stream: FileStream) -> FileStream:
        stream.forget("out/_spark_metadata/5.compact")
        return stream

    return _restart_damaged(bench, damage)


def log_unreadable(bench: Bench) -> Shown:
    """Cut off an entry of the log."""

    def damage(stream: FileStream) -> FileStream:
        path = stream.place / "out/_spark_metadata/6"
        cut = path.read_bytes()[:-20]
        stream.forget("out/_spark_metadata/6")
        path.write_bytes(cut)
        return stream

    return _restart_damaged(bench, damage)


def skip_loses_state(bench: Bench) -> Shown:
    """Stop a stateful query before commits/2, with state files that commits name."""
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    stream = FileStream(bench=bench, is_stateful=True)
    with setting(bench, provider=provider, state_format="2"):
        stream.run_batches(range(3))
        healthy = stream.judge()
        stream.forget("checkpoint/commits/2")
        shown = stream.restart(range(3), healthy=healthy, said=stream.judge())
        stream.forget("out/_spark_metadata/2")
        error = stream.run()
        if error or sorted(stream.rows()) != [0, 1, 2]:
            raise AssertionError(f"what the rule advises does not repair it: {error}")
        return shown


def output_moved(bench: Bench) -> Shown:
    """Copy the output to another directory, and go on there."""
    stream = FileStream(bench=bench)
    stream.run_batches(range(3))
    healthy = stream.judge()
    stream.copy("out", "out2")
    moved = replace(stream, out="out2")
    said = moved.judge()
    moved.put("in/3.json", [3])
    return moved.restart(range(4), healthy=healthy, said=said)


SITUATIONS = (
    Situation(
        name="file-sink-checkpoint-replaced",
        code="HF722",
        make=checkpoint_replaced,
        trap="A new checkpoint on an old file output: batches up to the old number are discarded.",
    ),
    Situation(
        name="file-sink-output-shared",
        code="HF721",
        make=output_shared,
        trap="Two streams write to one directory: the second one with a batch number is discarded.",
    ),
    Situation(name="file-sink-offset-deleted", code="HF721", make=offset_deleted),
    Situation(name="file-sink-checkpoint-restored", code="HF721", make=checkpoint_restored),
    Situation(name="file-sink-log-deleted", code="HF725", make=log_deleted),
    Situation(name="file-sink-output-replaced", code="HF726", make=output_replaced),
    Situation(name="file-sink-output-behind", code="HF727", make=output_behind),
    Situation(name="file-sink-log-incomplete", code="HF728", make=log_incomplete),
    Situation(name="file-sink-log-unreadable", code="HF729", make=log_unreadable),
    Situation(name="file-sink-skip-loses-state", code="HF735", make=skip_loses_state),
    Situation(name="file-sink-output-moved", code="HF730", make=output_moved),
)
