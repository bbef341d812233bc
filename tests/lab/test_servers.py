"""Each server can be crashed, paused and started again, and keeps what it had acknowledged."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator

import obstore
import psutil
import psycopg
import pytest
from confluent_kafka import Consumer, TopicPartition

from holdfast.drills.kill.waiting import wait_until
from lab import S3, Kafka, PgBouncer, Postgres
from lab.errors import ServerDidNotStartError
from lab.server import _alive
from tests.house.repository import ROOT


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


def test_postgres_keeps_what_it_committed_over_a_crash(own_postgres: Postgres) -> None:
    with psycopg.connect(own_postgres.address) as connection:
        connection.execute("create table t as select 1 as v")
    own_postgres.crash()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(own_postgres.address, connect_timeout=2)
    own_postgres.start()
    with psycopg.connect(own_postgres.address) as connection:
        assert connection.execute("select v from t").fetchall() == [(1,)]


def test_a_paused_postgres_answers_again_when_it_goes_on(own_postgres: Postgres) -> None:
    with psycopg.connect(own_postgres.address) as connection:
        own_postgres.pause()
        try:
            with pytest.raises(psycopg.OperationalError):
                psycopg.connect(own_postgres.address, connect_timeout=2)
        finally:
            own_postgres.resume()
        assert connection.execute("select 1").fetchone() == (1,)


def test_a_pool_gives_another_session_to_every_transaction(pgbouncer: PgBouncer) -> None:
    """Of two clients at once, neither keeps the session that it had."""
    with (
        psycopg.connect(pgbouncer.address, autocommit=True) as one,
        psycopg.connect(pgbouncer.address, autocommit=True) as other,
    ):
        with one.transaction():
            mine = one.execute("select pg_backend_pid()").fetchone()
            one.execute("set application_name = 'left behind'")
        with other.transaction():
            assert other.execute("select pg_backend_pid()").fetchone() == mine


def test_kafka_keeps_what_it_acknowledged_over_a_crash() -> None:
    with Kafka() as kafka:
        kafka.create_topic("t", partitions=1)
        kafka.produce("t", [(0, None, str(n).encode(), 0) for n in range(10)])
        kafka.crash()
        kafka.start()
        consumer = Consumer({"bootstrap.servers": kafka.address, "group.id": "t"})
        consumer.assign([TopicPartition("t", 0, 0)])
        found = [message.value() for message in consumer.consume(10, timeout=60)]
        consumer.close()
    assert found == [str(n).encode() for n in range(10)]


def test_s3_keeps_what_it_acknowledged_over_a_crash() -> None:
    with S3() as s3:
        obstore.put(s3.store(), "t/object", b"kept")
        s3.crash()
        s3.start()
        assert obstore.get(s3.store(), "t/object").bytes().to_bytes() == b"kept"


def test_a_server_that_cannot_start_says_what_its_log_says(own_postgres: Postgres) -> None:
    twin = Postgres(own_postgres.directory)
    with pytest.raises(ServerDidNotStartError) as raised:
        twin.start()
    assert "postmaster.pid" in str(raised.value)


def test_all_listen_on_loopback_only(
    kafka: Kafka, postgres: Postgres, pgbouncer: PgBouncer, *, s3: S3
) -> None:
    for server in (kafka, postgres, pgbouncer, s3):
        addresses = {
            connection.laddr.ip
            for process in server._tree()
            for connection in process.net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN
        }
        assert addresses, server.name
        assert addresses <= {"127.0.0.1", "::ffff:127.0.0.1"}, (server.name, addresses)


def test_a_server_ends_with_the_process_that_started_it() -> None:
    code = "import sys, pathlib; from lab import Postgres\n"
    code += "server = Postgres(pathlib.Path(sys.argv[1])).start()\n"
    code += "print(server._process.pid, flush=True); input()"
    # Not tmp_path: the server's account must be able to enter it.
    with tempfile.TemporaryDirectory() as directory:
        owner = subprocess.Popen(
            [sys.executable, "-c", code, directory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        assert owner.stdout is not None
        server = psutil.Process(int(owner.stdout.readline()))
        owner.kill()
        owner.communicate()
        assert wait_until(lambda: not _alive(server), seconds=20)


def test_a_start_that_is_interrupted_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Postgres) -> bool:
        raise KeyboardInterrupt

    server = Postgres()
    monkeypatch.setattr(Postgres, "_answers", interrupted)
    with pytest.raises(KeyboardInterrupt), server:
        pass
    assert not server.directory.exists()
    assert server._ended()
