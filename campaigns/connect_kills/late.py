"""A driver that was replaced writes `offsets/N` late, before the batch is written: what follows.

In an object store its request replaces the file. Then the batch is recorded as another range than
Spark has read, which the worker cannot see.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import click
import obstore
import psutil

from campaigns.connect_kills.late_client import REFUSED, STREAM
from campaigns.connect_kills.late_world import LateWorld
from campaigns.connect_kills.world import WAIT_SECONDS, Started
from holdfast.drills.kill.arming import arm
from holdfast.drills.kill.points import Rename
from holdfast.drills.kill.waiting import wait_until
from lab import S3, Kafka, Postgres
from lab.connect import ConnectServer
from lab.faults.s3_proxy import S3Proxy
from lab.s3 import ACCESS_KEY, BUCKET, REGION, SECRET_KEY

FIRST, SECOND, THIRD = 10, 10, 5
"""Records of the batches."""
QUIET = 8
LATE = 15
"""Where the other driver's second batch ended: it came before five of the records."""
_ENTRY = f"{STREAM}/offsets/1"


class OnS3:
    """A stream whose root is a bucket, through a proxy; and the other driver's late request."""

    def __init__(self, world: LateWorld, *, s3: S3, proxy: S3Proxy, server: ConnectServer) -> None:
        self.world, self.server = world, server
        self._store, self._proxy = s3.store(), proxy

    def replace_before_it_is_read(self, *options: str) -> Started:
        """Run two batches; the entry of the second is replaced when the worker asks for it."""
        world = self.world
        world.produce(FIRST)
        client = world.client(self.server, "for-ever", *options)
        world.wait_for(FIRST)
        held = self._proxy.hold(f"{_ENTRY}$", method="GET")
        world.produce(SECOND)
        held.arrived.wait()
        asked = [each.agent for each in self._proxy.requests if each.path.endswith(_ENTRY)]
        assert asked[-1].startswith("object_store/"), asked  # the worker, and not Spark
        path = f"{world.topic}/{_ENTRY}"
        entry = bytes(obstore.get(self._store, path).bytes())
        obstore.put(self._store, path, world.with_end(entry, LATE))  # the late request
        held.release()
        return client


@contextmanager
def on_s3(kafka: Kafka, postgres: Postgres, *, s3: S3, home: Path) -> Iterator[OnS3]:
    """Start a server for a stream whose root is a bucket."""
    with S3Proxy(s3.port) as proxy:
        world = LateWorld(kafka, postgres, home, root="")
        world.root = f"s3a://{BUCKET}/{world.topic}"
        world.settings = s3.spark_settings(port=proxy.port)
        world.store = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{proxy.port}",
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": REGION,
        }
        with world.server("server") as server:
            yield OnS3(world, s3=s3, proxy=proxy, server=server)


def find_at_the_next_batch(there: OnS3) -> str:
    """The next batch is refused, and so is every start until the checkpoint is put right."""
    client = there.replace_before_it_is_read()
    return _refuse_next(there.world, there.server, client)


def find_between_batches(there: OnS3) -> str:
    """The server dies once the batch was compared: the next start is refused."""
    world = there.world
    client = there.replace_before_it_is_read()
    world.wait_for(FIRST + SECOND)
    assert wait_until(lambda: world.ledger_end() == FIRST + SECOND, seconds=WAIT_SECONDS)
    there.server.crash()
    client.kill()
    there.server.start()
    world.produce(THIRD)
    return f"the server died before the next batch; {_go_on(world, there.server)}"


def lose(there: OnS3) -> str:
    """The server dies before Spark says what it has read: nothing finds it but a proof."""
    world = there.world
    there.server.aim("S7", 2, victim="server")
    client = there.replace_before_it_is_read()
    struck = there.server.struck
    assert wait_until(struck.exists, seconds=WAIT_SECONDS), client.said()
    assert world.rows() == world.expected(FIRST + SECOND)
    assert world.ledger_end() == LATE
    client.kill()
    _end_orphan(int(struck.read_text()))
    there.server.crash()
    there.server.start()
    world.produce(THIRD)
    again = world.client(there.server)
    assert again.wait() == 0, again.said()
    wanted, found = world.expected(world.produced), world.rows()
    assert not wanted - found
    assert found - wanted == world.expected(FIRST + SECOND) - world.expected(LATE)
    told, doubled = world.prove(), (found - wanted).total()
    assert told == f"not exact: 0 lost, {doubled} duplicated", told
    return f"the server died before that: {doubled} rows are duplicated, hf.prove says {told}"


CASES = (find_at_the_next_batch, find_between_batches, lose)


def stay_right(kafka: Kafka, postgres: Postgres, home: Path) -> str:
    """Nobody replaces anything, and the stream is quiet between its batches: no row is changed."""
    world = LateWorld(kafka, postgres, home, root=str(home / "streams"))
    with world.server("server") as server:
        client = world.client(server, "for-ever")
        for number in range(QUIET):
            server.aim("compared", number + 1, signal="CONT")  # which changes nothing
            world.produce(THIRD)
            assert wait_until(server.struck.exists, seconds=WAIT_SECONDS), client.said()
            world.wait_for(world.produced)
            assert world.ledger_end() == world.produced, client.said()
        assert "is not what this query has planned" not in client.said(), client.said()
        client.kill()
    with world.server("next-server") as server:
        last = world.client(server)
        assert last.wait() == 0, last.said()
        assert world.rows() == world.expected(world.produced)
    return f"{QUIET} batches of a quiet stream: the ledger was right after each, and the start too"


def halt_on_disk(kafka: Kafka, postgres: Postgres, home: Path) -> str:
    """A server is halted in its rename to `offsets/1`, replaced, and resumed before the read."""
    with _halted_in_rename(kafka, postgres, home) as halted:
        assert halted.go_on() == halted.written, "the file was replaced"
        world = halted.world
        halted.own.resume()
        world.produce(THIRD)
        world.wait_for(FIRST + SECOND + THIRD)
        assert world.ledger_end() == FIRST + SECOND + THIRD
        return "the rename of the replaced server failed; all rows once"


def replace_on_disk(kafka: Kafka, postgres: Postgres, home: Path) -> str:
    """The same, as if it had begun its file after the look of the start that replaced it."""
    with _halted_in_rename(kafka, postgres, home) as halted:
        for kept in (halted.world.record / "removed" / "offsets").iterdir():
            kept.rename(halted.entry.with_name(f".{kept.name}"))
        assert halted.go_on() != halted.written, "the file was not replaced"
        halted.own.resume()
        told = _refuse_next(halted.world, halted.own, halted.second)
        return f"the file was replaced; {told}"


@dataclass(frozen=True, kw_only=True)
class _Halted:
    """A server that is halted in its rename, and the one that replaced it, halted after its own."""

    world: LateWorld
    late: ConnectServer
    own: ConnectServer
    first: Started
    second: Started
    entry: Path
    written: bytes
    """By the second server."""

    def go_on(self) -> bytes:
        """Resume the first server until its client has ended; return what the entry is then."""
        self.late.resume()
        assert self.first.wait() != 0, self.first.said()
        return self.entry.read_bytes()


@contextmanager
def _halted_in_rename(kafka: Kafka, postgres: Postgres, home: Path) -> Iterator[_Halted]:
    world = LateWorld(kafka, postgres, home, root=str(home / "streams"))
    strike = signal.SIGSTOP
    late_point = arm(Rename("before", _ENTRY), strike=strike, base=home / "late")
    checksum = f"{STREAM}/offsets/.1.crc"  # the last that Spark renames of the entry
    own_point = arm(Rename("after", checksum), strike=strike, base=home / "own")
    with ExitStack() as opened:
        late = opened.enter_context(world.server("late-server", **late_point))
        own = opened.enter_context(world.server("own-server", **own_point))
        world.produce(FIRST)
        first = world.client(late, "for-ever")
        world.wait_for(FIRST)
        world.produce(LATE - FIRST)
        assert wait_until((home / "late.fired").exists, seconds=WAIT_SECONDS), first.said()
        world.produce(FIRST + SECOND - LATE)
        second = world.client(own, "takeover", "for-ever")
        opened.callback(second.kill)
        assert wait_until((home / "own.fired").exists, seconds=WAIT_SECONDS), second.said()
        entry = home / "streams" / _ENTRY
        yield _Halted(
            world=world,
            late=late,
            own=own,
            first=first,
            second=second,
            entry=entry,
            written=entry.read_bytes(),
        )


def _refuse_next(world: LateWorld, server: ConnectServer, client: Started) -> str:
    world.wait_for(FIRST + SECOND)
    world.produce(THIRD)
    assert client.wait() != 0, client.said()
    assert "is not what this query has planned" in client.said(), client.said()
    assert world.rows() == world.expected(FIRST + SECOND)
    assert world.ledger_end() == FIRST + SECOND
    return f"the next batch was refused; {_go_on(world, server)}"


def _go_on(world: LateWorld, server: ConnectServer) -> str:
    refused = world.client(server)
    assert refused.wait() == REFUSED, refused.said()
    assert "HF605" in refused.said(), refused.said()
    told = world.prove()
    assert told == "exact: 0 lost, 0 duplicated", told
    world.put_right()
    last = world.client(server)
    assert last.wait() == 0, last.said()
    assert world.rows() == world.expected(world.produced)
    return "the next start too (HF605); hf.prove: exact; after holdfast plan resume all rows once"


ON_DISK = (stay_right, halt_on_disk, replace_on_disk)


def _end_orphan(pid: int) -> None:
    """Resume the worker of a server that is gone: it ends."""
    with suppress(psutil.NoSuchProcess):
        worker = psutil.Process(pid)
        wait_until(lambda: worker.status() == psutil.STATUS_STOPPED, seconds=WAIT_SECONDS)
        worker.resume()
        assert wait_until(lambda: worker.status() == psutil.STATUS_ZOMBIE, seconds=WAIT_SECONDS)


def run_late(postgres: Postgres, directory: Path) -> int:
    """Provoke each on S3, and on a disk; return 0: none is done twice."""
    with Kafka() as kafka, S3() as s3:
        for case in CASES:
            with on_s3(kafka, postgres, s3=s3, home=directory / case.__name__) as there:
                click.echo(f"late, on S3: {case(there)}")
        for on_disk in ON_DISK:
            told = on_disk(kafka, postgres, directory / on_disk.__name__)
            click.echo(f"late, on disk: {told}")
    return 0
