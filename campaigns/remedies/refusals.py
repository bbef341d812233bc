"""Commands that a refused start prints, beside those of its findings: to accept, and to go on."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from pyspark.sql import DataFrame

import holdfast as hf
from campaigns.remedies.remedy import (
    REFUSAL,
    Bench,
    CarriedOut,
    NotOfferedError,
    Remedy,
    plan_and_apply,
    run_printed,
)
from campaigns.remedies.streams import DSN, STREAM, FileStream, delete
from holdfast.apply.errors import InterruptedPlanError
from holdfast.proof.multiset import compare
from holdfast.streams.refusal import UnfinishedRepairStartError

BATCHES = 4
_ACCEPT = re.compile(r"^ *(holdfast accept .+)$", re.MULTILINE)
_NO_NEW_TABLES = """
CREATE FUNCTION no_new_tables() RETURNS event_trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE 'no new tables today'; END $$;
CREATE EVENT TRIGGER no_new_tables ON ddl_command_start
    WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS') EXECUTE FUNCTION no_new_tables();
"""
_CONTINUE = re.compile(r"(holdfast apply \S+ --continue)")


@dataclass
class AdoptedStream(FileStream):
    """A stream that ran without Holdfast, and is taken over."""

    @property
    def old(self) -> Path:
        """Where its checkpoint is."""
        return self.bench.place / "old"

    def start_options(self) -> dict[str, Any]:
        """Return what else the start says."""
        return {"checkpoint": str(self.old)}

    def run_without(self) -> None:
        """Run as it did before."""
        dsn = os.environ[DSN]

        def append(batch: DataFrame, _: int) -> None:
            rows = [tuple(row) for row in batch.collect()]
            with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
                cursor.executemany("INSERT INTO readings VALUES (%s)", rows)

        writer = self.frame().writeStream.foreachBatch(append).trigger(availableNow=True)
        writer.option("checkpointLocation", str(self.old)).start().awaitTermination()


def _adopted(*, is_held: bool) -> Callable[[Bench, str], CarriedOut]:
    """Return what takes a stream over whose pending batch is in the table, or is not."""

    def carry_out(bench: Bench, _: str) -> CarriedOut:
        stream = AdoptedStream(bench)
        stream.add(BATCHES)
        stream.run_without()
        delete(stream.old, f"commits/{BATCHES - 1}")
        if not is_held:
            stream.execute("DELETE FROM readings WHERE value = 'row 3'")
        printed = _ACCEPT.findall(_refusal(stream, hf.StartRefusedError))
        wanted = "HF612" if is_held else "HF611"
        (command,) = (each for each in printed if wanted in each)
        run_printed(command)
        return _started(stream, command)

    return carry_out


def _half_applied(bench: Bench, _: str) -> CarriedOut:
    """Let the database refuse a step of a reset, and go on with what the next start prints."""
    stream = FileStream(bench)
    stream.add(BATCHES)
    stream.run()
    stream.execute(_NO_NEW_TABLES)
    reset = f"holdfast plan reset {STREAM} --root {stream.root} --from earliest --output truncate"
    try:
        plan_and_apply(f"{reset} -o plan.json", bench.place)
    except InterruptedPlanError as error:
        stopped = str(error)
    else:
        raise NotOfferedError("the database has refused nothing")
    assert _CONTINUE.search(stopped), stopped
    stream.execute("DROP EVENT TRIGGER no_new_tables")
    (command,) = _CONTINUE.findall(_refusal(stream, UnfinishedRepairStartError))
    run_printed(command)
    return _started(stream, command)


def _refusal(stream: FileStream, error: type[hf.HoldfastError]) -> str:
    try:
        stream.run()
    except error as refused:
        return str(refused)
    raise NotOfferedError("the start was not refused")


def _started(stream: FileStream, command: str) -> CarriedOut:
    stream.add(2)
    stream.run()
    seen = compare(stream.expected(), stream.rows())
    return CarriedOut(command=command, plan=None, difference=seen)


REMEDIES = (
    Remedy(
        name="adopted-batch-held", code=REFUSAL, goal="accept", carry_out=_adopted(is_held=True)
    ),
    Remedy(
        name="adopted-batch-not-held",
        code=REFUSAL,
        goal="accept",
        carry_out=_adopted(is_held=False),
    ),
    Remedy(name="half-applied-plan", code=REFUSAL, goal="continue", carry_out=_half_applied),
)
