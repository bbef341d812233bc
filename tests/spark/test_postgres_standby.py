"""A hot standby: it is never taken for the sink, and one that is promoted too early is noticed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace

import psycopg
import pytest

from holdfast.drills.kill.waiting import wait_until
from holdfast.ledger import Apply, Reason, Refuse
from holdfast.sinks.postgres.connect import ConnectError, connect
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from lab import Postgres
from lab.standby import Standby
from tests.ledger_rows import ROW, attempt
from tests.spark.test_postgres_sink import SCHEMA, Batch, ids, without_spark
from tests.writers import open_writer

__all__ = ["without_spark"]


@pytest.fixture
def primary() -> Iterator[Postgres]:
    with Postgres() as server:
        with psycopg.connect(server.address) as connection:
            connection.execute("CREATE TABLE readings (id bigint)")
        yield server


@pytest.fixture
def standby(primary: Postgres) -> Iterator[Standby]:
    with Standby(primary) as server:
        yield server


def test_a_standby_is_no_sink_until_it_is_promoted_and_then_lacks_what_it_did_not_receive(
    primary: Postgres, standby: Standby
) -> None:
    both = f"{standby.address} host=127.0.0.1,127.0.0.1 port={standby.port},{primary.port}"
    for dsn in (standby.address, f"{both} target_session_attrs=any"):
        with pytest.raises(ConnectError, match="is a hot standby") as refused:
            connect(partial(str, dsn))
        assert refused.value.retryable, "it may be promoted in a moment"
    sink = open_writer(
        PostgresSink(lambda: both, table="readings"),
        SimpleNamespace(schema=SCHEMA, sparkSession="session"),
    )
    assert sink.ledger.replace(None, ROW)
    assert sink.write(attempt(0), Batch([1])) == Apply()
    assert ids(primary.address) == [1], "the first host is passed over"
    assert wait_until(lambda: ids(standby.address) == [1], seconds=30)
    standby.cut_off()
    assert sink.write(attempt(1), Batch([2])) == Apply()
    primary.stop_immediately()
    standby.promote()
    assert sink.write(attempt(2), Batch([3])) == Refuse(Reason.GAP)
    assert ids(standby.address) == [1]
    sink.close()
