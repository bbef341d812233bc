"""URLs of databases: taken apart, or refused without showing a part of them."""

from __future__ import annotations

import pickle

import pytest

from holdfast.errors import ConfigError
from holdfast.record.contracts import SinkContract
from holdfast.sinks.database.sink import Database
from holdfast.sinks.database.url import Address, parse_url


def test_a_url_is_taken_apart() -> None:
    found = parse_url(
        "mysql+pymysql://ap%40p:S3%2Fcr%23et@db.example:3307/serv%20ing?local_infile=1"
    )
    assert found == Address(
        dialect="mariadb",
        host="db.example",
        port=3307,
        user="ap@p",
        password="S3/cr#et",
        database="serv ing",
        options={"local_infile": "1"},
    )
    assert "S3" not in repr(found)


@pytest.mark.parametrize(
    ("scheme", "dialect"),
    [
        ("sqlserver", "sqlserver"),
        ("mssql", "sqlserver"),
        ("mssql+pytds", "sqlserver"),
        ("oracle", "oracle"),
        ("oracle+oracledb", "oracle"),
    ],
)
def test_dialects_that_were_never_run_have_urls(scheme: str, dialect: str) -> None:
    assert parse_url(f"{scheme}://me:it@db.example/serving?connect_timeout=3") == Address(
        dialect=dialect,
        host="db.example",
        user="me",
        password="it",
        database="serving",
        options={"connect_timeout": "3"},
    )


def test_an_option_is_on_or_not() -> None:
    found = [Address(dialect="oracle", options={"tls": each}) for each in ("1", "YES", "0", "")]
    assert [each.is_on("tls") for each in found] == [True, True, False, False]
    assert not Address(dialect="oracle").is_on("tls")


@pytest.mark.parametrize(
    ("url", "path"),
    [("sqlite:////data/a%20b.db", "/data/a b.db"), ("sqlite:///near.db", "near.db")],
)
def test_sqlite_has_a_path(url: str, path: str) -> None:
    assert parse_url(url) == Address(dialect="sqlite", database=path)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "S3cret",
        "postgresql://a:S3cret@b/c",
        "jdbc:mariadb://b/c?password=S3cret",
        "db2://a:S3cret@b/c",
        "mssql://a:S3cret@b",
        "mssql+pyodbc://a:S3cret@b/c",
        "oracle://a:S3cret@b/c?mode=S3cret",
        "oracle://a:S3@cret@b/c@d",
        "mariadb://a:S3cret@b",
        "mariadb:///S3cret",
        "mariadb://a:S3cret@b:S3cret/c",
        "mariadb://a:S3cret@b/c?S3cret=1",
        "mariadb://a:S3cret@b/c?read_timeout=S3cret",
        "mariadb://a:S3#cret@b/c",
        "mariadb://a:S3/cret@b/c",
        "mariadb://a:S3?cret@b/c",
        "sqlite://S3cret/x.db",
        "sqlite:///",
        "mariadb://[S3cret/c",
    ],
)
def test_what_is_no_url_is_said_without_showing_it(url: str) -> None:
    found = parse_url(url)
    assert isinstance(found, str)
    assert "S3" not in found
    assert "cret" not in found


def test_a_spec_is_made_again_from_its_contract() -> None:
    sink = Database("env:URL", table="db.readings", keys=["id"], sequence_by="at", name="served")
    contract = SinkContract(
        kind=sink.kind,
        place=sink.place,
        label=sink.label,
        keys=tuple(sink.keys),
        sequence_by=sink.sequence_by,
        secret=sink.secret,
    )
    assert Database.from_contract(contract) == sink
    assert pickle.loads(pickle.dumps(sink)) == sink


@pytest.mark.parametrize(
    "options",
    [{"table": ""}, {"table": "t", "sequence_by": "at"}, {"table": "t", "name": "x" * 191}],
)
def test_a_spec_that_cannot_be_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        Database("env:URL", **options)
