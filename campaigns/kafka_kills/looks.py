"""Looks of a `read_committed` consumer at what the writers of `processes` have written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from lab.topics import read_topic

TOPIC = "killed_out"
ROWS, PARTITIONS = 200, 2
"""Rows of a batch, and partitions of the topic, over which they are spread evenly."""
_FORK = get_context("fork")


def is_exact(servers: str, *, batches: int | None) -> str:
    """Say what a `read_committed` consumer finds wrong; empty if nothing is.

    Args:
        servers: The broker.
        batches: So many must be there; None: any number, complete in each partition.
    """
    found: dict[int, list[int]] = {each: [] for each in range(PARTITIONS)}
    for partition, _, value in read_topic(servers, TOPIC):
        found[partition].append(int(value or b"-1"))
    for partition, ids in found.items():
        here = len(ids) // (ROWS // PARTITIONS)
        wanted = batches if batches is not None else here
        expected = Counter(each for each in range(wanted * ROWS) if each % PARTITIONS == partition)
        if Counter(ids) != expected:
            return f"partition {partition}: {len(ids)} records, not those of {wanted} batches"
    return ""


def judge(servers: str, *, batches: int | None) -> None:
    """Look once, in a process of its own: forked children must not inherit a client's threads.

    Raises:
        AssertionError: What is there is not exact.
    """
    with _FORK.Pool(1) as pool:
        wrong = pool.apply(is_exact, (servers,), {"batches": batches})
    assert not wrong, wrong


@contextmanager
def reader(servers: str) -> Iterator[Callable[[], tuple[int, str]]]:
    """Look again and again beside the writers; gives what returns the looks, and what was wrong."""
    looks, stop = _FORK.Value("i", 0), _FORK.Event()
    wrong = _FORK.Queue()
    given = {"looks": looks, "stop": stop, "wrong": wrong}
    process = _FORK.Process(target=_look_on, args=(servers,), kwargs=given, daemon=True)
    process.start()

    def result() -> tuple[int, str]:
        stop.set()
        process.join(60)
        return int(looks.value), "" if wrong.empty() else str(wrong.get())

    try:
        yield result
    finally:
        stop.set()


def _look_on(servers: str, *, looks: Any, stop: Any, wrong: Any) -> None:
    while not stop.wait(0.1):
        said = is_exact(servers, batches=None)
        looks.value += 1
        if said:
            wrong.put(said)
            return
