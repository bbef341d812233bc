"""Writers without Spark, killed and paused in every step of the protocol, many times.

A process does what a driver does: it reads the ledger, fences the sink, and writes the batches that
its own list of finished batches lacks. So a batch whose commit was not noted comes again, as Spark
runs it again. Processes are forked: a kill takes a second, and hundreds can be made.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from campaigns.kafka_kills.looks import PARTITIONS, ROWS, TOPIC, judge, reader
from holdfast import points
from holdfast.ids import BatchId, QueryId
from holdfast.ledger import NO_BATCH, Attempt, Binding, LedgerRow, Refuse
from holdfast.sinks import collect
from holdfast.sinks.kafka.sink import Kafka
from holdfast.sinks.kafka.writer import resolve_writer

STREAM = "killed"
POINTS = ("fenced", "S2", "S3", "copying", "S4", "S5", "S6", "noted")
REFUSED = 3
"""How a process ends that was replaced."""
_BINDING = Binding(query_id=QueryId("6f0c"), checkpoint="s3://lake/streams/killed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """What happens to a process, and where."""

    point: str
    nth: int = 1
    signal: int = signal.SIGKILL
    after_ms: float = 0.0
    """So long after the point: in the commit, for example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a stream of processes writes, and keeps what it has finished."""

    directory: Path
    servers: str

    @property
    def finished(self) -> Path:
        """The list of finished batches."""
        return self.directory / "finished"

    def next_batch(self) -> int:
        """Return the first batch that is not noted as finished."""
        return int(self.finished.read_text()) if self.finished.exists() else 0

    def note(self, batch: int) -> None:
        """Note a batch as finished, unless a later driver has: as Spark's log does."""
        if batch < self.next_batch():
            return
        draft = self.finished.with_suffix(f".{os.getpid()}")
        draft.write_text(str(batch + 1))
        draft.rename(self.finished)


def start(place: Place, *, batches: int, strike: Strike | None) -> int:
    """Fork a process that writes all batches up to a number; return its pid."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        status = _write(place, batches, strike)
    except BaseException:  # noqa: BLE001 - the child ends here, whatever it is
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _write(place: Place, batches: int, strike: Strike | None) -> int:
    by_spark: Any = collect
    by_spark.collected = lambda batch, **_: nullcontext(iter(batch.batches))
    budget: Any = collect
    budget.budget_of = lambda _: 1 << 30
    points.listen(_striker(strike))
    frame: Any = SimpleNamespace(schema=SimpleNamespace(fields=_fields()))
    writer = resolve_writer(Kafka(lambda: place.servers, topic=TOPIC), frame, STREAM)
    writer.create()
    row = _take(writer.ledger)
    if row is None:
        return REFUSED
    for number in range(place.next_batch(), batches):
        decision = writer.write(_attempt(row, number), _batch(number))
        if isinstance(decision, Refuse):
            return REFUSED
        points.reached("noted")
        place.note(number)
    return 0


def _striker(strike: Strike | None) -> Callable[[str], None]:
    seen: Counter[str] = Counter()

    def hear(point: str) -> None:
        seen[point] += 1
        if strike is None or (point, seen[point]) != (strike.point, strike.nth):
            return
        if strike.after_ms:
            timer = threading.Timer(strike.after_ms / 1000, os.kill, (os.getpid(), strike.signal))
            timer.daemon = True
            timer.start()
        else:
            os.kill(os.getpid(), strike.signal)

    return hear


def _take(ledger: Any) -> LedgerRow | None:
    """Open the ledger row, or fence it; None: another process was faster."""
    found = ledger.read(STREAM)
    nonce = str(os.getpid())
    if found is None:
        new = LedgerRow(
            stream=STREAM,
            sink=TOPIC,
            generation=1,
            epoch=1,
            nonce=nonce,
            binding=_BINDING,
            last_batch=NO_BATCH,
            digest=None,
            end_offsets="{}",
        )
        return new if ledger.replace(None, new) else None
    assert isinstance(found, LedgerRow), found
    fenced: LedgerRow | None = ledger.fence(found, epoch=found.epoch + 1, nonce=nonce)
    return fenced


def _attempt(row: LedgerRow, number: int) -> Attempt:
    return Attempt(
        stream=STREAM,
        sink=TOPIC,
        generation=1,
        epoch=row.epoch,
        nonce=row.nonce,
        binding=_BINDING,
        batch_id=BatchId(number),
        digest=f"d{number}",
        start_offsets="{}" if number == 0 else f"e{number - 1}",
        end_offsets=f"e{number}",
    )


def _fields() -> list[Any]:
    kinds = {"key": "string", "value": "string", "partition": "int"}
    return [
        SimpleNamespace(name=name, dataType=SimpleNamespace(simpleString=lambda kind=kind: kind))
        for name, kind in kinds.items()
    ]


def _batch(number: int) -> Any:
    ids = range(number * ROWS, (number + 1) * ROWS)
    columns = {
        "key": [str(each) for each in ids],
        "value": [str(each) for each in ids],
        "partition": pa.array([each % PARTITIONS for each in ids], pa.int32()),
    }
    table = pa.table(columns)
    return SimpleNamespace(batches=table.to_batches(ROWS // 2), sparkSession=None)


def ended(pid: int) -> int:
    """Wait for a process; return its status, or the negative signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def draw(choose: random.Random) -> Strike:
    """Draw where a process is killed: at a point, or some milliseconds into the commit."""
    nth = choose.choice((1, 1, 2, 3))
    if choose.random() < 0.3:
        return Strike(point="S5", nth=nth, after_ms=choose.uniform(0.1, 15))
    point = choose.choice(POINTS)
    return Strike(point=point, nth=1 if point == "fenced" else nth)


def kill_many(place: Place, *, kills: int, choose: random.Random) -> dict[str, int]:
    """Kill writers so many times, each in the recovery from the last; return where they died.

    Raises:
        AssertionError: A record is lost or duplicated, or a part of a batch was seen.
    """
    died: Counter[str] = Counter()
    while sum(died.values()) < kills:
        strike = draw(choose)
        batches = place.next_batch() + 3
        status = ended(start(place, batches=batches, strike=strike))
        if status == -signal.SIGKILL:
            died["in the commit" if strike.after_ms else strike.point] += 1
        else:
            assert status == 0, f"a writer ended with {status} and not by its kill at {strike}"
        if sum(died.values()) % 20 == 0:
            judge(place.servers, batches=None)
    last = place.next_batch() + 1
    assert ended(start(place, batches=last, strike=None)) == 0
    judge(place.servers, batches=last)
    return dict(died)


def pause_many(place: Place, *, choose: random.Random, pauses: int) -> dict[str, int]:
    """Pause writers, let another one take over and finish, and resume the first.

    Raises:
        AssertionError: A record is lost or duplicated, or a writer that was replaced went on.
    """
    paused: Counter[str] = Counter()
    for _ in range(pauses):
        point = choose.choice(POINTS[:-1])
        strike = Strike(point=point, signal=signal.SIGSTOP)
        batches = place.next_batch() + 3
        first = start(place, batches=batches, strike=strike)
        _, status = os.waitpid(first, os.WUNTRACED)
        assert os.WIFSTOPPED(status), f"a writer was not paused at {strike}"
        assert ended(start(place, batches=batches, strike=None)) == 0
        judge(place.servers, batches=batches)
        os.kill(first, signal.SIGCONT)
        assert ended(first) == REFUSED, f"a writer that was paused at {point} went on"
        judge(place.servers, batches=batches)
        paused[point] += 1
    return dict(paused)


def run_processes(
    servers: str, directory: Path, *, kills: int, pauses: int, seed: int
) -> Iterator[str]:
    """Kill and pause writers while a reader looks; yield a line for each."""
    choose = random.Random(seed)  # noqa: S311 - it must be replayable
    place, began = Place(directory=directory, servers=servers), time.monotonic()
    with reader(servers) as result:
        died = kill_many(place, kills=kills, choose=choose)
        yield f"writers killed: {sum(died.values())} ({_shown(died)}); exact"
        paused = pause_many(place, choose=choose, pauses=pauses)
        yield f"writers paused, replaced and resumed: {sum(paused.values())} ({_shown(paused)})"
        looks, wrong = result()
    assert not wrong, wrong
    written = place.next_batch()
    seconds = time.monotonic() - began
    yield f"{written} batches, each once; {looks:,} looks of a reader, none wrong; {seconds:.0f} s"


def _shown(found: dict[str, int]) -> str:
    return ", ".join(f"{point} {count}" for point, count in sorted(found.items()))
