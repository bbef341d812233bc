"""Carries out the operations of a history, and ends it with a start that must work."""

from __future__ import annotations

import shutil
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaigns.histories.backend import Backend
from campaigns.histories.describe import first_line, name_of
from campaigns.histories.forging import apply_forged
from campaigns.histories.history import History, Op
from campaigns.histories.machine import MAIN, STRANGER, FoundError, Machine
from campaigns.histories.model import Wrong
from campaigns.histories.remedies import follow
from campaigns.histories.repairing import (
    Interference,
    apply_last,
    go_on,
    make,
    resume_paused,
    take_back,
)
from holdfast.plan.requests import Request


@dataclass(frozen=True)
class Played:
    """How a history ended."""

    wrong: tuple[Wrong, ...] = ()
    at: int = -1
    told: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What kind of wrong it is; empty when nothing is."""
        return self.wrong[0].kind if self.wrong else ""


def play(
    history: History, backend: Backend, home: Path, *, make_machine: type[Machine] = Machine
) -> Played:
    """Play a history in a directory of its own, which is removed."""
    place = Path(tempfile.mkdtemp(dir=home))
    machine = make_machine(history, backend, place)
    try:
        for number, op in enumerate(history.ops):
            machine.at = number
            machine.tell(name_of(op))
            _DOING[op["do"]](machine, op)
            machine.check()
        machine.at = len(history.ops)
        finish(machine)
    except FoundError as found:
        return Played(tuple(found.wrong), found.at, tuple(machine.told))
    except Exception as error:  # noqa: BLE001 - an error that nobody expects is a finding
        wrong = Wrong("crash", "".join(traceback.format_exception(error)[-3:]))
        return Played((wrong,), machine.at, tuple(machine.told))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return Played(told=tuple(machine.told))


def finish(machine: Machine) -> None:
    """Start every stream once more: each must run, and every row be there once."""
    resume_paused(machine)
    machine.check()
    if machine.main.is_retired:
        return
    machine.add_files(MAIN, 1)
    follow(machine, machine.main)
    machine.check()
    if machine.other.batches:
        machine.add_files(machine.other.name, 1)
        follow(machine, machine.other)
        machine.check()
    machine.check_complete()


def _run(machine: Machine, op: Op) -> None:
    machine.add_files(MAIN, op.get("files", 0))
    if machine.main.is_retired:
        return
    error = machine.run(machine.main, kill=op.get("kill"))
    if error is not None and op.get("follow"):
        follow(machine, machine.main)


def _other(machine: Machine, op: Op) -> None:
    stream = machine.other
    if not stream.batches:  # it writes where the first sink of the main stream does now
        stream.sinks[0].table = machine.main.sinks[0].known
    machine.add_files(stream.name, op.get("files", 1))
    machine.run(stream)


def _lookup(machine: Machine, op: Op) -> None:
    del op
    if not machine.history.is_repeatable:
        machine.lookup += 1


def _second_driver(machine: Machine, op: Op) -> None:
    """Pause a driver, let another one take over and end, then let the first one go on."""
    _pause(machine, op)
    if machine.paused is None:
        return
    machine.run(machine.main, takeover=True)
    machine.fenced = False
    resume_paused(machine)
    if machine.fenced:
        machine.fail(Wrong("not-fenced", "A driver wrote after another one had taken over"))


def _pause(machine: Machine, op: Op) -> None:
    """Start a driver, and stop it within a batch; it holds its lease no more."""
    machine.add_files(MAIN, op.get("files", 1))
    if machine.paused is not None or machine.main.is_retired or not machine.can_pause:
        return
    driver = machine.driver(machine.main)
    try:
        driver.start()
        machine.has_started(machine.main)
        points = driver.run()
        for _ in range(op.get("at", 1)):
            next(points)
    except StopIteration:
        driver.close()
        return
    except Exception as error:  # noqa: BLE001 - what stops a driver is looked at by later starts
        machine.tell(f"not paused: {first_line(error)}")
        return
    machine.paused = (driver, points)


def _go_on_paused(machine: Machine, op: Op) -> None:
    del op
    resume_paused(machine)


def _table(machine: Machine, op: Op) -> str:
    sinks, at = machine.main.sinks, int(op.get("table", 0))
    return sinks[at % len(sinks)].known


def _stranger(machine: Machine, op: Op) -> None:
    name, what = _table(machine, op), op["what"]
    account = machine.tables[name]
    if what == "insert":
        machine.backend.insert(name, [machine.stranger_row(name)])
        return
    writer = MAIN if what == "delete-ours" else STRANGER
    ids = [row.id for row in account.of(writer)]
    single = [row for row in account.of(writer) if ids.count(row.id) == 1]
    if not single:
        return
    row = single[op.get("row", 0) % len(single)]
    if what == "update":
        row.value.allowed = {f"u{machine.at}"}
        machine.backend.update(name, row.id, f"u{machine.at}")
    else:
        machine.is_tampered = machine.is_tampered or writer == MAIN
        account.rows.remove(row)
        for change in machine.changes:
            change.forget_row(name, row.id)
        machine.backend.delete(name, row.id)


def _alter(machine: Machine, op: Op) -> None:
    machine.backend.alter(_table(machine, op), op["what"])


def _checkpoint(machine: Machine, op: Op) -> None:
    """Do to the checkpoint what people do by hand."""
    home = machine.checkpoint_of(machine.main)
    match op["what"]:
        case "delete":
            shutil.rmtree(home, ignore_errors=True)
        case "copy":
            machine.copy = {
                str(path.relative_to(machine.home)): path.read_bytes()
                for path in home.rglob("*")
                if path.is_file()
            }
        case "put-back" if machine.copy:
            first = next(iter(machine.copy))
            if str(home.relative_to(machine.home)) != "/".join(first.split("/")[:2]):
                return  # the copy is of another generation's checkpoint
            shutil.rmtree(home, ignore_errors=True)
            for name, content in machine.copy.items():
                path = machine.home / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        case _:
            return
    machine.is_tampered = machine.is_tampered or op["what"] != "copy"
    machine.main.moves += 1


def _plan(machine: Machine, op: Op) -> None:
    if machine.main.is_retired:
        return
    make(machine, request_of(machine, op))


def request_of(machine: Machine, op: Op) -> Request:
    """Return what an operation asks for, by how the stream stands."""
    newest = max(machine.main.batches, default=-1)
    given: dict[str, Any] = {
        key: op[key] for key in ("start", "output", "batches") if op.get(key) is not None
    }
    if op["goal"] == "rewind":
        given["batch"] = max(newest - op.get("back", 0), 0)
    if op["goal"] in ("snapshot", "restore", "clone"):
        given["target"] = op.get("target", "s")
    if op["goal"] == "move":
        other = "r1" if machine.main.root.endswith("r0") else "r0"
        given["target"] = f"{machine.home}/{other}"
    if "outputs" in op:
        given["outputs"] = {
            f"{MAIN}/{sink.known}": each
            for sink, each in zip(machine.main.sinks, op["outputs"], strict=False)
        }
    return Request(goal=op["goal"], **given)


def _around(op: Op) -> Interference:
    return Interference(kill=op.get("kill"), intrude=op.get("intrude"))


def _apply(machine: Machine, op: Op) -> None:
    apply_last(machine, _around(op))


def _forge(machine: Machine, op: Op) -> None:
    """Apply a plan file that was edited to delete something: nothing may be deleted."""
    victim = {
        "checkpoint": machine.checkpoint_of(machine.main),
        "record": Path(machine.main.root, "_holdfast", MAIN, "generations"),
        "source": machine.home / f"in-{MAIN}",
    }[op["what"]]
    apply_forged(machine, victim)


def _continue(machine: Machine, op: Op) -> None:
    go_on(machine, None, _around(op))


def _undo(machine: Machine, op: Op) -> None:
    if not machine.changes:
        return
    which = op.get("which", 0) % len(machine.changes)
    take_back(machine, machine.changes[-1 - which], _around(op))


_DOING: dict[str, Callable[[Machine, Op], None]] = {
    "run": _run,
    "other": _other,
    "lookup": _lookup,
    "second-driver": _second_driver,
    "pause": _pause,
    "go-on": _go_on_paused,
    "stranger": _stranger,
    "alter": _alter,
    "checkpoint": _checkpoint,
    "plan": _plan,
    "apply": _apply,
    "forge": _forge,
    "continue": _continue,
    "undo": _undo,
}
