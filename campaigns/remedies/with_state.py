"""Remedies of guarded queries with state: entries are written again, or all is computed again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from campaigns.remedies.remedy import Bench, CarriedOut, Remedy
from campaigns.remedies.streams import (
    FileStream,
    TotalsStream,
    copy_checkpoint,
    cut_off,
    delete,
    edit,
)

BATCHES = 4
Damage = Callable[[FileStream], None]
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"


@dataclass
class RocksStream(TotalsStream):
    """Totals in RocksDB, whose commit entries name the files of the state."""

    def run(self) -> None:
        """Run until everything is read."""
        with _settings(self.bench, {_PROVIDER: _ROCKSDB, _FORMAT: "2"}):
            super().run()


@contextmanager
def _settings(bench: Bench, settings: dict[str, str]) -> Iterator[None]:
    """Set session settings, and take them back."""
    conf = bench.spark.conf
    before = {name: conf.get(name, None) for name in settings}
    for name, value in settings.items():
        conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                conf.unset(name)
            else:
                conf.set(name, old)


def _after(
    damage: Damage, made: type[FileStream] = TotalsStream, *, goal: str
) -> Callable[[Bench, str], CarriedOut]:
    """Return what runs a stream of four batches, damages it and repairs it for a goal."""

    def carry_out(bench: Bench, code: str) -> CarriedOut:
        stream = made(bench)
        stream.add(BATCHES)
        stream.run()
        damage(stream)
        return stream.repair(code, goal=goal)

    return carry_out


def _old_copy(bench: Bench, code: str) -> CarriedOut:
    """Put an old copy of the checkpoint back: the state since then is lost."""
    stream = TotalsStream(bench)
    stream.add(2)
    stream.run()
    kept = copy_checkpoint(stream)
    stream.add(2)
    stream.run()
    shutil.rmtree(stream.checkpoint)
    kept.rename(stream.checkpoint)
    return stream.repair(code)


def _deleting(*paths: str) -> Damage:
    return lambda stream: delete(stream.checkpoint, *paths)


def _damaged_pending(stream: FileStream) -> None:
    """Lose the commits of two batches, and the entry of the newest one."""
    delete(stream.checkpoint, "commits/2")
    cut_off(stream.checkpoint, "offsets/3")


def _commit_before_damaged(stream: FileStream) -> None:
    """Lose the newest entry, and the commit that says which watermark it had."""
    delete(stream.checkpoint, "offsets/3")
    cut_off(stream.checkpoint, "commits/2")


def _edited_pending(stream: FileStream) -> None:
    """Edit the entry of a batch that the sink holds, and that was not committed."""
    delete(stream.checkpoint, "commits/3")
    _edited(stream)


def _edited(stream: FileStream) -> None:
    edit(stream.checkpoint, "offsets/3", old='"logOffset":3', new='"logOffset":2')


def _only_a_note(stream: FileStream) -> None:
    """Lose the state, and leave a file of somebody in its place."""
    shutil.rmtree(stream.checkpoint / "state")
    (stream.checkpoint / "state").mkdir()
    (stream.checkpoint / "state/notes.txt").write_text("moved")


def _other_operator(stream: FileStream) -> None:
    """Leave the state of another operator alone."""
    (stream.checkpoint / "state/0").rename(stream.checkpoint / "state/1")


def _schema_cut_off(stream: FileStream) -> None:
    for schema in stream.checkpoint.glob("state/0/0/_metadata/schema"):
        cut_off(stream.checkpoint, str(schema.relative_to(stream.checkpoint)))


def _commit_without_ids(stream: FileStream) -> None:
    """Write the newest commit as an older Spark does: without the files of the state."""
    delete(stream.checkpoint, "commits/3")
    Path(stream.checkpoint, "commits/3").write_text('v1\n{"nextBatchWatermarkMs":0}')


def _logs_deleted(stream: FileStream) -> None:
    for name in ("offsets", "commits"):
        shutil.rmtree(stream.checkpoint / name)


_RESUMED: dict[str, tuple[str, Damage, type[FileStream]]] = {
    "state-offset-cut-off": (
        "HF202",
        lambda stream: cut_off(stream.checkpoint, "offsets/3"),
        TotalsStream,
    ),
    "state-offset-cut-off-rocksdb": (
        "HF202",
        lambda stream: cut_off(stream.checkpoint, "offsets/3"),
        RocksStream,
    ),
    "state-offset-deleted": ("HF207", _deleting("offsets/3"), TotalsStream),
    "state-offset-edited": ("HF605", _edited, TotalsStream),
    "offset-edited": ("HF605", _edited, FileStream),
    "source-log-edited": (
        "HF605",
        lambda stream: edit(stream.checkpoint, "sources/0/3", old="/003", new="/other"),
        FileStream,
    ),
}
_RESET: dict[str, tuple[str, Damage, type[FileStream]]] = {
    "state-offsets-deleted": (
        "HF201",
        lambda stream: shutil.rmtree(stream.checkpoint / "offsets"),
        TotalsStream,
    ),
    "state-logs-deleted": ("HF606", _logs_deleted, TotalsStream),
    "state-offset-and-commits-lost": ("HF202", _damaged_pending, TotalsStream),
    "state-previous-offset-lost": ("HF203", _deleting("commits/3", "offsets/2"), TotalsStream),
    "state-offset-and-commit-lost": ("HF207", _commit_before_damaged, TotalsStream),
    "state-pending-offset-edited": ("HF605", _edited_pending, TotalsStream),
    "state-schema-cut-off": ("HF411", _schema_cut_off, TotalsStream),
    "state-is-a-note": ("HF414", _only_a_note, TotalsStream),
    "state-of-another-operator": ("HF415", _other_operator, TotalsStream),
    "state-files-not-named": ("HF416", _commit_without_ids, RocksStream),
    "state-of-another-batch": ("HF417", _deleting("commits/3", "commits/2"), RocksStream),
}
REMEDIES = (
    *(
        Remedy(name=name, code=code, goal="resume", carry_out=_after(damage, made, goal="resume"))
        for name, (code, damage, made) in _RESUMED.items()
    ),
    *(
        Remedy(name=name, code=code, goal="reset", carry_out=_after(damage, made, goal="reset"))
        for name, (code, damage, made) in _RESET.items()
    ),
    Remedy(name="state-old-checkpoint", code="HF604", goal="reset", carry_out=_old_copy),
)
