"""Plays one cell: a stream, a change, and what the stream does from then on.

The judge keeps a model of the table: every batch that arrived, once, and what the change did to the
rows that were there. At the end the table must be exactly that. A refusal must leave every table
that the scene has as it was just before.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from campaigns.target_changes.cells import ARRIVED, STARTS, STREAMED, Cell, Table, When
from campaigns.target_changes.listening import (
    PATIENCE_S,
    Codes,
    heard_codes,
    held_at,
    wait_until_given_up,
    watched,
)
from campaigns.target_changes.rows import Rows, append, merge, project, rows_of
from holdfast.drills.kill.waiting import wait_until
from holdfast.errors import HoldfastError
from holdfast.proof.multiset import compare
from holdfast.streams.refusal import StartRefusedError

HANGS, POINT = "HANGS", "S3"
_FIRST_BATCHES = 2


class Scene(Protocol):
    """A table, its stream and those who change it."""

    def start(self) -> Any:
        """Start the stream; return its query."""

    def add(self, batch: int) -> None:
        """Add the file of a batch."""

    def act(self) -> None:
        """Do the change."""

    def is_waiting(self) -> bool:
        """Return whether the change waits for the batch."""

    def release(self) -> None:
        """Remove the cause of a change that is temporary."""

    def find(self, table: str) -> tuple[Sequence[str], list[tuple[object, ...]]]:
        """Return the stream's columns that a table has, and their values."""

    def snapshot(self) -> object:
        """Return everything that is in the tables of the scene."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What happened in a cell."""

    cell: Cell
    steps: tuple[str, ...]
    wrong: tuple[str, ...]
    """How it differs from what must happen."""
    seconds: float


@dataclass(slots=True, kw_only=True)
class _Play:
    """A cell that is being played."""

    cell: Cell
    scene: Scene
    codes: Codes
    rows: Rows = ()
    """What the table must hold."""
    steps: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    query: Any = None
    batches: int = 0
    """How many files there are."""
    pending: int | None = None
    """The batch that was refused, and runs again at the next start."""
    is_changed: bool = False

    def begin(self) -> None:
        """Run the first batches; the change comes after them."""
        self.query = self.scene.start()
        for _ in range(_FIRST_BATCHES):
            self.give()
            word = self.await_batch()
            assert word == ARRIVED, f"{self.cell.name}: before the change: {word}"
        self.check_rows("before the change")

    def stop(self) -> None:
        """Stop the query and wait until its lease is given up."""
        if self.query is not None:
            self.query.stop()
        self.query = None
        wait_until_given_up()

    def give(self) -> None:
        """Add the next file."""
        self.scene.add(self.batches)
        self.pending = self.batches
        self.batches += 1

    def await_batch(self) -> str:
        """Wait until the batch in hand arrived or was refused; return the word for it."""
        with watched(self.rescue) as hangs:
            try:
                self.query.processAllAvailable()
            except (PySparkException, Py4JError) as error:
                word = self.codes.take() or f"UNCODED:{_name_of(error)}"
            else:
                word = ARRIVED
        word = HANGS if hangs.is_set() else word
        if word == ARRIVED:
            self.arrive()
        return word

    def arrive(self) -> None:
        """Count the batch in hand as arrived."""
        self.land()
        self.pending = None

    def land(self) -> None:
        """Count the rows of the batch in hand as in the table, also if it was refused."""
        assert self.pending is not None
        put = append if self.cell.table is Table.APPENDED else merge
        came = rows_of(self.pending)
        self.rows = put(self.rows, self.cell.change.later(came) if self.is_changed else came)

    def change_rows(self) -> None:
        """Count the change as done."""
        self.rows = self.cell.change.effect(self.rows)
        self.is_changed = True

    def step_batch(self) -> bool:
        """Give a batch, unless one is pending; return whether it arrived."""
        before = self.snapshot()
        if self.pending is None:
            self.give()
        return self.note(self.await_batch(), before)

    def step_start(self) -> bool:
        """Start the stream; return whether it started."""
        before = self.snapshot()
        with watched(self.rescue) as hangs:
            word = self._try_start()
        if hangs.is_set():
            self.stop()
            word = HANGS
        return self.note(word, before)

    def _try_start(self) -> str:
        try:
            self.query = self.scene.start()
        except StartRefusedError as error:
            return "+".join(finding.code for finding in error.findings)
        except HoldfastError as error:
            return error.code
        except Exception as error:  # noqa: BLE001 - without a code, and so never expected
            return f"UNCODED:{_name_of(error)}"
        return STARTS

    def note(self, word: str, before: object) -> bool:
        """Write a step down; what is refused must have written nothing."""
        self.steps.append(word)
        is_good = word in (ARRIVED, STARTS)
        if not is_good:
            if before != self.snapshot():
                self.wrong.append(f"{word} wrote something")
            if self.cell.change.is_temporary:
                self.scene.release()
        return is_good

    def snapshot(self) -> object:
        """Return what is in the tables; a table that is locked is judged at the end alone."""
        return None if self.cell.change.is_temporary else self.scene.snapshot()

    def rescue(self) -> None:
        """End what hangs."""
        self.scene.release()
        if self.query is not None:
            self.query.stop()

    def check_rows(self, at: str) -> None:
        """Hold the table against what it must hold."""
        table = self.cell.change.holds if self.is_changed else STREAMED
        columns, found = self.scene.find(table)
        difference = compare(project(self.rows, columns), found)
        if not difference.exact:
            self.wrong.append(
                f"{at}: of {difference.expected} rows {difference.missing} are missing, "
                f"{difference.duplicated} are duplicated, {difference.foreign} are unexpected"
            )


def _name_of(error: Exception) -> str:
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    return condition or type(error).__name__


def _start_and_write(play: _Play) -> None:
    """Start, and once more when the cause of a refusal has been removed; then a batch."""
    started = play.step_start()
    if not started and play.cell.change.is_temporary:
        started = play.step_start()
    if started:
        play.step_batch()


def _play_running(play: _Play) -> None:
    play.scene.act()
    play.change_rows()
    play.step_batch()
    play.stop()
    _start_and_write(play)


def _play_stopped(play: _Play) -> None:
    play.stop()
    play.scene.act()
    play.change_rows()
    _start_and_write(play)


_CHANGERS: list[ThreadPoolExecutor] = []
"""Kept until the end: a server ends with the thread that has started it."""


def _play_during(play: _Play) -> None:
    scene, batch = play.scene, play.batches
    other = ThreadPoolExecutor(1)
    _CHANGERS.append(other)
    with held_at(POINT, batch=batch) as hold:
        play.give()
        assert hold.wait(), f"{play.cell.name}: the batch never reached {POINT}"
        changing = other.submit(scene.act)
        assert wait_until(lambda: changing.done() or scene.is_waiting(), seconds=PATIENCE_S), (
            f"{play.cell.name}: the change neither ends nor waits"
        )
        comes_first = changing.done()
        if comes_first:
            changing.result()
            play.change_rows()
    word = play.await_batch()
    changing.result(PATIENCE_S)
    if not comes_first:
        play.change_rows()
    if play.note(word, play.snapshot()):
        play.step_batch()
    elif play.cell.change.lands_there:
        play.land()
    play.stop()
    _start_and_write(play)


_PLAYS = {When.RUNNING: _play_running, When.STOPPED: _play_stopped, When.DURING: _play_during}


def play_cell(cell: Cell, scene: Scene) -> Played:
    """Play a cell in a scene that was set for it."""
    began = time.monotonic()
    with heard_codes() as codes:
        play = _Play(cell=cell, scene=scene, codes=codes)
        try:
            play.begin()
            _PLAYS[cell.when](play)
        finally:
            play.stop()
            scene.release()
        play.check_rows("at the end")
    if tuple(play.steps) != cell.expected:
        play.wrong.insert(0, f"{' '.join(play.steps)} instead of {' '.join(cell.expected)}")
    return Played(
        cell=cell,
        steps=tuple(play.steps),
        wrong=tuple(play.wrong),
        seconds=time.monotonic() - began,
    )
