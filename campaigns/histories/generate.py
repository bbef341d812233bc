"""Makes histories from a seed. Operations say how far back or which one, never an absolute number.

So a history from which operations were dropped still means something, and can be shrunk.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from campaigns.histories.history import History, Op, SinkShape

MOST_OPS = 14
STORIES = 0.5
"""The part of the histories that are about one repair."""
Weights = tuple[float, ...]
_GOALS = (
    ("reset", 8),
    ("replay", 4),
    ("rewind", 3),
    ("resume", 3),
    ("restore", 2),
    ("snapshot", 2),
    ("move", 2),
    ("prune", 1),
    ("clone", 1),
    ("retire", 1),
)


def generate(seed: int, index: int, *, most: int = MOST_OPS) -> History:
    """Return one history of a seed."""
    rng = random.Random(f"{seed}:{index}")  # noqa: S311 - a seed is the point
    sinks = tuple(_sink(rng) for _ in range(rng.choice((1, 1, 2))))
    unsequenced = any(each.by_key and not each.sequenced for each in sinks)
    ops = _story(rng) if rng.random() < STORIES else _anything(rng, most)
    return History(
        sinks=sinks,
        ops=tuple(ops),
        is_repeatable=rng.random() < 0.6,
        files_per_batch=1 if unsequenced else rng.choice((1, 1, 2)),
        name=f"{seed}:{index}",
    )


def _anything(rng: random.Random, most: int) -> list[Op]:
    """Return operations of every kind, in any order."""
    ops: list[Op] = [{"do": "run", "files": rng.randint(1, 4)}]
    length = rng.randint(3, most)
    while len(ops) < length:
        ops += _any(rng, _MAKING, _WEIGHTS)
    return ops


def _story(rng: random.Random) -> list[Op]:
    """Return what mostly happens around one repair: before it, after it, and its undo."""
    ops: list[Op] = _alter(rng) if rng.random() < 0.3 else []
    ops.append({"do": "run", "files": rng.randint(1, 4)})
    for make in (_run, _lookup, _stranger, _checkpoint):
        ops += make(rng) if rng.random() < 0.2 else []
    ops += _repair(rng)
    for _ in range(rng.randint(0, 2)):
        ops += _any(rng, _SINCE, (3, 2, 2, 3, 1))
    if rng.random() < 0.75:
        ops += _undo(rng)
    if rng.random() < 0.3:
        ops += _repair(rng)
    return [*ops, {"do": "run", "files": 0}]


def _any(
    rng: random.Random, makers: dict[str, Callable[[random.Random], list[Op]]], weights: Weights
) -> list[Op]:
    return makers[rng.choices(list(makers), weights=list(weights), k=1)[0]](rng)


def _sink(rng: random.Random) -> SinkShape:
    by_key = rng.random() < 0.4
    return SinkShape(
        by_key=by_key, sequenced=by_key and rng.random() < 0.5, versions=rng.random() < 0.5
    )


def _run(rng: random.Random) -> list[Op]:
    op: Op = {"do": "run", "files": rng.randint(0, 2)}
    if rng.random() < 0.35:
        op["kill"] = rng.randint(0, 7)
    elif rng.random() < 0.5:
        op["follow"] = True
    return [op]


def _other(rng: random.Random) -> list[Op]:
    return [{"do": "other", "files": rng.randint(1, 2)}]


def _stranger(rng: random.Random) -> list[Op]:
    what = rng.choice(("insert", "insert", "insert", "update", "delete", "delete-ours"))
    return [{"do": "stranger", "what": what, "table": rng.randint(0, 1)}]


def _alter(rng: random.Random) -> list[Op]:
    kinds = ("add-column", "trigger", "no-trigger", "reference", "no-reference", "vacuum")
    what = rng.choice((*kinds, "vacuum", "optimize", "add-column"))
    return [{"do": "alter", "what": what, "table": rng.randint(0, 1)}]


def _checkpoint(rng: random.Random) -> list[Op]:
    what = rng.choice(("delete", "copy", "put-back"))
    ops: list[Op] = [{"do": "checkpoint", "what": what}]
    if what == "delete" and rng.random() < 0.7:
        ops += [{"do": "plan", "goal": "resume"}, {"do": "apply"}]
    return ops


def _repair(rng: random.Random) -> list[Op]:
    ops = [plan_op(rng)]
    if ops[0]["goal"] == "replay" and rng.random() < 0.5:
        ops.insert(0, {"do": "lookup"})  # what is replayed was mostly corrected before
    if rng.random() < 0.25:
        ops += _MAKING[rng.choice(("run", "other", "stranger", "alter"))](rng)
    apply: Op = {"do": "apply"}
    if rng.random() < 0.25:
        apply["kill"] = rng.randint(0, 24)
    ops.append(apply)
    if "kill" in apply and rng.random() < 0.6:
        ops += rng.choice(([{"do": "continue"}], _undo(rng)))
    return ops


def plan_op(rng: random.Random) -> Op:
    """Return a plan of any goal."""
    goal = rng.choices([name for name, _ in _GOALS], weights=[each for _, each in _GOALS])[0]
    op: Op = {"do": "plan", "goal": goal}
    match goal:
        case "reset":
            op["start"] = rng.choice(("earliest", "here"))
            op["output"] = rng.choice(("truncate", "truncate", "keep-from-here", "new-table"))
            if rng.random() < 0.2:
                outputs = ("truncate", "keep-from-here", "new-table")
                op["outputs"] = [rng.choice(outputs), rng.choice(outputs)]
        case "replay":
            op["batches"] = rng.choice((1, 1, 2, 3))
            op["output"] = rng.choice(("restore", "restore", "keep"))
        case "rewind":
            op["back"] = rng.randint(0, 3)
            op["output"] = rng.choice(("restore", "restore", "keep"))
        case "snapshot" | "restore" | "clone":
            op["target"] = rng.choice(("s", "s", "t"))
        case _:
            pass
    return op


def _undo(rng: random.Random) -> list[Op]:
    op: Op = {"do": "undo", "which": rng.choice((0, 0, 0, 1, 2))}
    if rng.random() < 0.2:
        op["kill"] = rng.randint(0, 20)
    ops = [op]
    if rng.random() < 0.25:
        ops.append({"do": "undo", "which": 0})
    return ops


def _continue(rng: random.Random) -> list[Op]:
    op: Op = {"do": "continue"}
    if rng.random() < 0.3:
        op["kill"] = rng.randint(0, 12)
    return [op]


def _lookup(rng: random.Random) -> list[Op]:
    del rng
    return [{"do": "lookup"}]


def _second(rng: random.Random) -> list[Op]:
    return [{"do": "second-driver", "files": rng.randint(1, 2), "at": rng.randint(1, 3)}]


def _intruder(rng: random.Random) -> list[Op]:
    """Pause a driver within a batch, and let it go on while a plan is applied."""
    pause: Op = {"do": "pause", "files": 1, "at": 1}
    return [pause, plan_op(rng), {"do": "apply", "intrude": rng.randint(0, 40)}, {"do": "go-on"}]


def _forge(rng: random.Random) -> list[Op]:
    what = rng.choice(("checkpoint", "record", "source"))
    return [{"do": "plan", "goal": "snapshot", "target": "f"}, {"do": "forge", "what": what}]


_MAKING: dict[str, Callable[[random.Random], list[Op]]] = {
    "run": _run,
    "other": _other,
    "stranger": _stranger,
    "alter": _alter,
    "checkpoint": _checkpoint,
    "repair": _repair,
    "undo": _undo,
    "continue": _continue,
    "lookup": _lookup,
    "second": _second,
    "intruder": _intruder,
    "forge": _forge,
}
_SINCE = {each: _MAKING[each] for each in ("run", "other", "stranger", "alter", "continue")}
_WEIGHTS = (8, 2, 4, 2.5, 2, 10, 5, 1, 1.5, 0.5, 0.4, 0.3)


def all_of(seed: int, count: int, *, first: int = 0) -> Iterator[History]:
    """Yield the histories of a seed."""
    return (generate(seed, index) for index in range(first, first + count))
