"""The query of one start, looked up once: held against a JVM of our own."""

from __future__ import annotations

import pytest

from holdfast.spark.classic.running import RunningQuery
from tests.stand_ins import stand_in

ID = "664ebef6-dd08-4434-9925-12a1b56c32ab"


class Offset:
    def __init__(self, text: str) -> None:
        self._text = text

    def json(self) -> str:
        return self._text


class ScalaIterator:
    def __init__(self, values: list[Offset]) -> None:
        self._left = list(values)

    def hasNext(self) -> bool:  # noqa: N802 - as Scala spells it
        return bool(self._left)

    def next(self) -> Offset:
        return self._left.pop(0)


class Query:
    """Spark's wrapper of a query, the query itself, and the map of its offsets."""

    def __init__(self, *offsets: str) -> None:
        self.is_running = True
        self._offsets = [Offset(each) for each in offsets]

    def streamingQuery(self) -> Query:  # noqa: N802
        return self

    def availableOffsets(self) -> Query:  # noqa: N802
        return self

    def valuesIterator(self) -> ScalaIterator:  # noqa: N802
        return ScalaIterator(self._offsets)

    def isActive(self) -> bool:  # noqa: N802
        return self.is_running


class Session:
    """A session and its JVM; counts how often a query is looked up."""

    def __init__(self) -> None:
        self.queries: dict[str, Query] = {}
        self.looks = 0
        self._jsparkSession = self

    def streams(self) -> Session:
        return self

    def get(self, query_id: str) -> Query | None:
        self.looks += 1
        return self.queries.get(query_id)


@pytest.fixture
def session() -> Session:
    return Session()


def test_the_offsets_are_those_of_the_running_query(session: Session) -> None:
    session.queries[ID] = Query('{"b": 1,  "a": 2}', "7")
    assert RunningQuery(stand_in(session), ID).end_offsets() == {'{"a":2,"b":1}', "7"}


def test_it_is_looked_up_once(session: Session) -> None:
    session.queries[ID] = Query("7")
    query = RunningQuery(stand_in(session), ID)
    for _ in range(3):
        assert query.end_offsets() == {"7"}
        assert query.is_active()
    assert session.looks == 1


def test_a_query_that_has_not_begun_is_looked_for_again(session: Session) -> None:
    query = RunningQuery(stand_in(session), ID)
    assert query.end_offsets() is None
    assert not query.is_active()
    session.queries[ID] = Query("7")
    assert query.is_active()


def test_a_query_that_is_stopped_gives_no_offsets(session: Session) -> None:
    running = session.queries[ID] = Query("7")
    query = RunningQuery(stand_in(session), ID)
    assert query.is_active()
    running.is_running = False
    assert query.end_offsets() is None
    assert not query.is_active()


def test_a_query_that_was_started_again_is_not_the_one_that_called(session: Session) -> None:
    running = session.queries[ID] = Query("7")
    query = RunningQuery(stand_in(session), ID)
    assert query.end_offsets() == {"7"}
    running.is_running = False
    session.queries[ID] = Query("7")
    assert query.end_offsets() is None
    assert not query.is_active()
