from __future__ import annotations

import pytest

from holdfast.storage import remembered
from holdfast.storage.remembered import CachingReader
from tests.unit.checkpoint.counted import Counted


@pytest.fixture
def store() -> Counted:
    return Counted({"a/b": b"01234"})


def test_what_is_there_is_asked_for_once(store: Counted) -> None:
    reader = CachingReader(store)
    assert reader.read("a/b") == reader.read("a/b") == b"01234"
    assert reader.read("a/b", start=1, length=2) == b"12"
    assert store.requests == 2


def test_what_is_not_there_may_come(store: Counted) -> None:
    reader = CachingReader(store)
    assert reader.read("c") is None
    store.put("c", b"1")
    assert reader.read("c") == b"1"


def test_what_is_large_is_not_kept(store: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MOST_BYTES", 4)
    reader = CachingReader(store)
    assert reader.read("a/b") == reader.read("a/b") == b"01234"
    assert store.requests == 2


def test_everything_else_is_the_stores_own(store: Counted) -> None:
    reader = CachingReader(store)
    assert reader.location == store.location
    assert reader.list("a") == store.list("a")
    assert list(reader.walk()) == list(store.walk())
    assert reader.walk_page("a") == store.walk_page("a")
    assert reader.stat("a/b") == store.stat("a/b")
