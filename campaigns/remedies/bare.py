"""Remedies of checkpoints without Holdfast: the sink recognises no batch, so some rows repeat."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from campaigns.remedies.remedy import Bench, CarriedOut, Remedy, diagnosed, plan_and_apply
from campaigns.remedies.streams import cut_off, delete
from campaigns.situations.appended import AppendedStream
from campaigns.situations.situation import Bench as SituationBench
from holdfast.checkpoint.layout import COMMITS, OFFSETS, SOURCES
from holdfast.plan.signs import PENDING_QUIET_S
from holdfast.proof.multiset import compare

BATCHES = 4
ORPHAN = "offsets/.0.6f0c0000-0000-4000-8000-000000000000.tmp"


def _after(
    damage: Callable[[Path], None],
    *,
    batches: int = BATCHES,
    repeats: int = 0,
    failed_with: str = "",
) -> Callable[[Bench, str], CarriedOut]:
    """Return what runs a stream, damages its checkpoint and repairs it.

    Args:
        damage: Changes the files of the checkpoint.
        batches: How many have run.
        repeats: How many rows the repair writes again.
        failed_with: What Spark has failed with, if `diagnose` is given that.
    """

    def carry_out(bench: Bench, code: str) -> CarriedOut:
        situation = SituationBench(spark=bench.spark, place=bench.place, kafka=bench.kafka)
        stream = AppendedStream(situation)
        for number in range(batches):
            stream.add(f"row {number}")
        if batches:
            stream.run()
        damage(stream.checkpoint)
        _age(stream.checkpoint)
        words = [str(stream.checkpoint)]
        if failed_with:
            log = bench.place / "driver.log"
            log.write_text(failed_with)
            words += ["--error", str(log)]
        command = diagnosed(words, code)
        plan = plan_and_apply(command, bench.place)
        stream.add(f"row {batches}")
        error = stream.run()
        seen = compare([(f"row {number}",) for number in range(batches + 1)], stream.rows)
        assert not error, error
        return CarriedOut(command=command, plan=plan, difference=seen, repeats=repeats)

    return carry_out


def _age(checkpoint: Path) -> None:
    """Make its files old enough: one without a lease must be quiet before a plan is applied."""
    then = time.time() - PENDING_QUIET_S
    for path in checkpoint.rglob("*"):
        os.utime(path, (then, then))


def _leave_orphan(checkpoint: Path) -> None:
    """Leave what a first batch leaves that is killed while it writes its entry."""
    (checkpoint / "offsets").mkdir(parents=True)
    (checkpoint / "metadata").write_text('{"id":"6f0c0000-0000-4000-8000-000000000000"}')
    (checkpoint / ORPHAN).write_bytes(b"")


def _cut_off_pending(checkpoint: Path) -> None:
    """Cut off the entry of a batch that never reached the sink."""
    newest = checkpoint / f"offsets/{BATCHES}"
    newest.write_bytes(b"")


def _leave_checksum(checkpoint: Path, log: str) -> None:
    """Leave the checksums of the next entry, as if only the entry had been deleted."""
    (checkpoint / log / f".{BATCHES}.crc").write_bytes(b"crc\0\0\0\2\0\0\0\0\0")


REMEDIES = tuple(
    replace(each, name=f"bare-{each.name}")
    for each in (
        Remedy(
            name="first-batch-killed",
            code="HF103",
            goal="resume",
            carry_out=_after(_leave_orphan, batches=0),
        ),
        Remedy(
            name="previous-offset-deleted",
            code="HF203",
            goal="resume",
            carry_out=_after(lambda checkpoint: delete(checkpoint, "offsets/2")),
        ),
        Remedy(
            name="error-of-a-missing-entry",
            code="HF937",
            goal="resume",
            carry_out=_after(
                lambda checkpoint: delete(checkpoint, "offsets/2"),
                failed_with="java.lang.IllegalStateException: batch 2 doesn't exist",
            ),
        ),
        Remedy(
            name="pending-offset-cut-off",
            code="HF202",
            goal="resume",
            carry_out=_after(_cut_off_pending),
        ),
        Remedy(
            name="newest-commit-cut-off",
            code="HF202",
            goal="resume",
            carry_out=_after(lambda checkpoint: cut_off(checkpoint, "commits/3"), repeats=1),
        ),
        Remedy(
            name="newest-offset-deleted",
            code="HF207",
            goal="resume",
            carry_out=_after(lambda checkpoint: delete(checkpoint, "offsets/3"), repeats=2),
        ),
        Remedy(
            name="checksum-of-next-offset",
            code="HF206",
            goal="resume",
            carry_out=_after(lambda checkpoint: _leave_checksum(checkpoint, OFFSETS)),
        ),
        Remedy(
            name="checksum-of-next-commit",
            code="HF208",
            goal="resume",
            carry_out=_after(lambda checkpoint: _leave_checksum(checkpoint, COMMITS)),
        ),
        Remedy(
            name="checksum-of-next-file-entry",
            code="HF313",
            goal="resume",
            carry_out=_after(lambda checkpoint: _leave_checksum(checkpoint, f"{SOURCES}/0")),
        ),
    )
)
