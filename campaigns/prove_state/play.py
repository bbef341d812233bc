"""Runs streams, plants faults into their tables, and holds what a proof says against both."""

from __future__ import annotations

import random
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaigns.prove_state.data import write_file, write_kinds
from campaigns.prove_state.faults import FAULTS, Fault
from campaigns.prove_state.operators import OPERATORS, SCHEMA, Operator
from holdfast.proof.values import ProofVerdict, TableProof
from holdfast.streams.heartbeat import THREAD

FILES, ROWS = 6, 30
AT_ONCE = 4
"""Streams that run side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What a proof said once."""

    operator: str
    what: str
    """The fault that was planted, or `untouched`."""
    proof: TableProof

    @property
    def wrong(self) -> str:
        """What is wrong with the answer; empty when nothing is."""
        if self.what == "untouched":
            is_alarm = self.proof.verdict is ProofVerdict.NOT_EXACT
            return f"a false alarm: {shown(self.proof)}" if is_alarm else ""
        is_found = self.proof.verdict is ProofVerdict.NOT_EXACT
        return "" if is_found else f"missed: {shown(self.proof)}"


def shown(proof: TableProof) -> str:
    """Return a proof in one line."""
    examples = () if proof.compared is None else proof.compared.examples[:2]
    return f"{proof.verdict}: {proof.reason} {proof.left_out} {examples}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A session, and the table that rows are joined with."""

    spark: Any
    home: Path

    def prepare(self) -> None:
        """Write what all runs share."""
        write_kinds(self.spark, self.home)

    def open(self, name: str) -> Path:
        """Return the home of one run."""
        place = self.home / name
        place.mkdir(parents=True)
        shutil.copytree(self.home / "kinds", place / "kinds")
        return place

    def run(self, operator: Operator, home: Path) -> None:
        """Let a stream read all files that are there."""
        self.run_all([(operator, home)])

    def run_all(self, streams: list[tuple[Operator, Path]]) -> None:
        """Let streams read all files that are there, side by side."""
        queries = [
            query
            for operator, home in streams
            for query in operator.pipeline(home)
            .start(self.spark, trigger={"availableNow": True})
            .values()
        ]
        for query in queries:
            query.awaitTermination()
        for thread in threading.enumerate():
            if thread.name == THREAD:
                thread.join(60)

    def prove(self, operator: Operator, home: Path) -> TableProof:
        """Return what Holdfast says of the table."""
        (found,) = operator.pipeline(home).prove(self.spark).tables
        return found  # type: ignore[no-any-return]

    def plant(self, operator: Operator, home: Path, fault: Fault) -> Any:
        """Damage the table; return what puts it back, or None if the statement changed nothing."""
        name = f"delta.`{home / operator.name}`"
        before = self._version(name)
        files = sorted((home / "in").iterdir())
        for view, read in (("newest_file", files[-1:]), ("late_rows", files[1:])):
            rows = self.spark.read.schema(SCHEMA).json([str(each) for each in read])
            if view == "late_rows":
                rows = rows.where("at < timestamp '2026-01-01 06:00:00'")
            rows.createOrReplaceTempView(view)
        names = {"{t}": name, "{last}": "newest_file", "{late}": "late_rows"}
        statement = fault.statement.replace("{one}", self._condition(name, fault.one))
        for word, value in names.items():
            statement = statement.replace(word, value)
        rows_before = sorted(map(repr, self.spark.table(name).collect()))
        self.spark.sql(statement)
        if sorted(map(repr, self.spark.table(name).collect())) == rows_before:
            return None
        return lambda: self.spark.sql(f"RESTORE TABLE {name} TO VERSION AS OF {before}")

    def _condition(self, name: str, columns: tuple[str, ...]) -> str:
        """Return the condition of one row of a table."""
        if not columns:
            return ""
        first = (
            self.spark.table(name)
            .orderBy(*columns)
            .selectExpr(*(f"cast({column} AS string) AS {column}" for column in columns))
        )
        row = first.first().asDict()
        return " AND ".join(f"{column} = '{row[column]}'" for column in columns)

    def _version(self, name: str) -> int:
        newest = self.spark.sql(f"DESCRIBE HISTORY {name} LIMIT 1").first()
        return int(newest.version)


def play_faults(
    stage: Stage, names: tuple[str, ...], *, seed: int, only: tuple[Fault, ...] = ()
) -> Iterator[Played]:
    """Yield what a proof says of each operator's table: untouched, and with every fault."""
    for name in names:
        operator, home = OPERATORS[name], stage.open(f"faults-{name}")
        choose = random.Random(f"{seed}")  # noqa: S311 - it must be replayable
        for number in range(FILES):
            write_file(home, number, choose, rows=ROWS)
        stage.run(operator, home)
        yield Played(operator=name, what="untouched", proof=stage.prove(operator, home))
        for fault in only or FAULTS[name]:
            put_back = stage.plant(operator, home, fault)
            assert put_back is not None, f"{name}: {fault.label}: nothing was planted"
            yield Played(operator=name, what=fault.label, proof=stage.prove(operator, home))
            put_back()


def play_random(stage: Stage, names: tuple[str, ...], *, seeds: range) -> Iterator[Played]:
    """Yield what a proof says of untouched tables of random streams, some of them side by side."""
    for first in range(seeds.start, seeds.stop, AT_ONCE):
        runs = [
            _RandomRun(
                seed=seed,
                operator=OPERATORS[names[seed % len(names)]],
                home=stage.open(f"random-{seed}"),
            )
            for seed in range(first, min(first + AT_ONCE, seeds.stop))
        ]
        for part in (0, 1):  # stopped and started once
            stage.run_all([(each.operator, each.home) for each in runs if each.write(part)])
        for each in runs:
            proof = stage.prove(each.operator, each.home)
            yield Played(operator=each.operator.name, what="untouched", proof=proof)
            shutil.rmtree(each.home)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RandomRun:
    seed: int
    operator: Operator
    home: Path

    def write(self, part: int) -> bool:
        """Write the files of one of two runs; False when there are none."""
        choose = random.Random(f"{self.seed} {part}")  # noqa: S311 - it must be replayable
        count = choose.choice((1, 2, 2, 3)) if part == 0 else choose.choice((0, 1, 2))
        written = len(list(self.home.glob("in/*")))
        for number in range(written, written + count):
            write_file(self.home, number, choose, rows=choose.randint(1, 25))
        return bool(count)
