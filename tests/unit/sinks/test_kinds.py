"""Kinds of sinks: a class that is complete registers itself; any other cannot be defined."""

from __future__ import annotations

import inspect
import pickle
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

import holdfast as hf
from holdfast.errors import ConfigError
from holdfast.ledger.store import Unreadable
from holdfast.record.contracts import SinkContract
from holdfast.sinks.given import as_sinks
from holdfast.sinks.kinds import find_kinds, sink_of
from holdfast.sinks.sink import KINDS, SinkSpec
from tests.kinds import sqlite_sink

SOURCE = inspect.getsource(sqlite_sink)
REQUIRED = [
    name for name in dir(hf.Sink) if getattr(getattr(hf.Sink, name), "__isabstractmethod__", False)
]


def define(source: str) -> type[SinkSpec]:
    exec(source.replace('"sqlite"', '"theirs"'), vars(sys.modules["their_sink"]))
    found: type[SinkSpec] = sys.modules["their_sink"].Sqlite
    return found


@pytest.fixture(autouse=True)
def _module(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "their_sink", ModuleType("their_sink"))
    yield
    KINDS.pop("theirs", None)


def test_the_kinds_are_found_without_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_SINKS", "their_sink,tests.kinds.sqlite_sink")
    assert set(find_kinds()) >= {
        "delta",
        "foreach-batch",
        "postgres",
        "sqlite",
    }


@pytest.mark.parametrize("name", REQUIRED)
def test_with_one_method_misspelt_the_class_cannot_be_defined(name: str) -> None:
    misspelt = name[:-1] + "_" + name[-1]
    with pytest.raises(TypeError, match=f"lacks {name}. Is {misspelt} meant to be {name}?"):
        define(SOURCE.replace(f"def {name}(", f"def {misspelt}("))


@pytest.mark.parametrize("name", ["disconect", "examin", "is_apending"])
def test_an_optional_method_that_is_misspelt_is_refused_too(name: str) -> None:
    with pytest.raises(TypeError, match=f"Is {name} meant to be"):
        define(
            SOURCE.replace(
                "    @classmethod", f"    def {name}(self):\n        ...\n\n    @classmethod"
            )
        )


def test_a_complete_class_is_defined_and_registered() -> None:
    found = define(SOURCE)
    assert find_kinds()["theirs"] is found


def test_a_kind_has_one_class() -> None:
    with pytest.raises(TypeError, match="needs a kind of its own"):
        define(SOURCE.replace('"sqlite"', '"delta"'))
    for kind in ("", "SQLite", "a b"):
        with pytest.raises(TypeError, match="needs a kind such as"):
            define(SOURCE.replace('"sqlite"', f'"{kind}"'))


@pytest.mark.parametrize("given", ["readings", None, {"a": 1}, [hf.Delta(path="a"), "b"], print])
def test_what_is_no_sink_is_told_at_once(given: Any) -> None:
    with pytest.raises(ConfigError, match="into= takes a sink such as"):
        as_sinks(given)


def test_a_postgres_sink_is_a_value_that_does_not_show_its_dsn() -> None:
    sink = hf.Postgres("file:/run/dsn", table="readings", keys=["id"], sequence_by="at")
    assert sink == hf.Postgres("file:/run/dsn", table="readings", keys=("id",), sequence_by="at")
    assert len({sink, pickle.loads(pickle.dumps(sink))}) == 1
    assert (sink.secret, sink.label) == ("file:/run/dsn", "readings")
    assert "/run/dsn" not in repr(sink)
    with pytest.raises(ConfigError, match="name of a table"):
        hf.Postgres("env:DSN", table="")


@pytest.mark.parametrize("table", ["readings", "public.readings", "a@b"])
def test_a_postgres_sink_comes_back_from_its_contract(table: str) -> None:
    sink = hf.Postgres("env:DSN", table=table, keys=["id"], sequence_by="at")
    contract = SinkContract(
        kind="postgres",
        place=sink.place,
        label=str(sink.name),
        keys=("id",),
        sequence_by="at",
        secret="env:DSN",
    )
    assert sink_of(contract) == sink
    assert sink_of(msgspec.structs.replace(contract, secret=None)) is None
    assert sink_of(msgspec.structs.replace(contract, kind="unknown")) is None


def test_a_field_may_have_a_name_that_is_almost_one_of_ours() -> None:
    define(
        SOURCE.replace(
            '    table: str = "readings"', '    table: str = "readings"\n    key: str = "id"'
        )
    )


def test_a_sink_that_cannot_be_read_is_unreadable_and_not_without_a_row(tmp_path: Path) -> None:
    path = tmp_path / "readings.sqlite"
    ledger = sqlite_sink.Sqlite(path=str(path)).open_ledger()
    assert ledger is not None
    assert ledger.read("readings") is None
    assert not path.exists(), "looking creates nothing"
    path.write_bytes(b"not a database, but long enough to be taken for one" * 100)
    found = ledger.read("readings")
    assert isinstance(found, Unreadable)
    assert "DatabaseError" in found.why


@pytest.mark.parametrize("text", ["", "{}", '{"generation": 1, "epoch": 1, "last_batch": 5}'])
def test_what_is_no_row_is_said_to_be_broken(tmp_path: Path, text: str) -> None:
    sink = sqlite_sink.Sqlite(path=str(tmp_path / "readings.sqlite"))
    with closing(sink.connect()) as connection:
        connection.execute(sqlite_sink.LEDGER)
        sink.write_ledger(connection, "readings/readings", text)
    ledger = sink.open_ledger()
    assert ledger is not None
    found = ledger.read("readings")
    assert isinstance(found, Unreadable)
    assert "not a ledger row" in found.why
    ledger.close()
