"""What hands do to the logs of a checkpoint, and what a restart then does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from campaigns.situations.appended import AppendedStream
from campaigns.situations.situation import Bench, Shown, Situation

BATCHES = 4


def _delete(checkpoint: Path, *paths: str, with_checksums: bool = True) -> None:
    for each in paths:
        path = checkpoint / each
        path.unlink()
        if with_checksums:
            path.with_name(f".{path.name}.crc").unlink()


def _empty(checkpoint: Path, *logs: str) -> None:
    for log in logs:
        for path in (checkpoint / log).iterdir():
            path.unlink()


def _shown_after(damage: Callable[[Path], None]) -> Callable[[Bench], Shown]:
    """Return what makes a stream of four batches, damages it and restarts it."""

    def make(bench: Bench) -> Shown:
        stream = AppendedStream(bench)
        for number in range(BATCHES):
            stream.add(f"row {number}")
        stream.run()
        healthy = stream.judge()
        damage(stream.checkpoint)
        return stream.restart(healthy, [(f"row {number}",) for number in range(BATCHES)])

    return make


def _without_offset(checkpoint: Path) -> None:
    """Replace the offset in the newest entry, as somebody does to "skip" a batch."""
    path = checkpoint / "offsets/3"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], "-"]))
    path.with_name(".3.crc").unlink()


def _pending_without_offset(checkpoint: Path) -> None:
    _without_offset(checkpoint)
    _delete(checkpoint, "commits/3")


SITUATIONS = (
    Situation(
        name="killed-before-the-commit",
        code="HF210",
        make=_shown_after(lambda checkpoint: _delete(checkpoint, "commits/3")),
    ),
    Situation(
        name="offset-entry-deleted",
        code="HF207",
        make=_shown_after(lambda checkpoint: _delete(checkpoint, "offsets/3")),
    ),
    Situation(
        name="commit-deleted-without-its-checksum",
        code="HF208",
        make=_shown_after(
            lambda checkpoint: _delete(checkpoint, "commits/3", with_checksums=False)
        ),
    ),
    Situation(
        name="logs-deleted-and-sources-left",
        code="HF212",
        make=_shown_after(lambda checkpoint: _empty(checkpoint, "offsets", "commits")),
    ),
    Situation(
        name="offset-taken-away",
        code="HF213",
        make=_shown_after(_without_offset),
    ),
    Situation(
        name="offset-taken-away-from-a-pending-batch",
        code="HF213",
        make=_shown_after(_pending_without_offset),
    ),
)
