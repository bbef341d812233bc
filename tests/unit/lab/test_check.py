from __future__ import annotations

import shutil
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from lab import __main__, check
from lab.errors import ToolMissingError


class Started:
    """A server that is up at once."""

    port = 1

    def __init__(self, *_: object) -> None:
        pass

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def others_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every server but PgBouncer is up, and so is Spark."""
    for name in ("Kafka", "Postgres", "S3"):
        monkeypatch.setattr(check, name, Started)
    for name in ("kafka", "postgres", "s3", "spark"):
        monkeypatch.setattr(check, f"_check_{name}", lambda *_: None)


def missing(*names: str) -> Any:
    which = shutil.which
    return lambda name, **more: None if name in names else which(name, **more)


def run_check() -> Any:
    return CliRunner().invoke(__main__.lab, ["check"])


@pytest.mark.usefixtures("others_answer")
def test_a_missing_pgbouncer_is_named_and_fails_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.tools.shutil", SimpleNamespace(which=missing("pgbouncer")))
    ended = run_check()
    assert ended.exit_code == 0, ended.output
    (line,) = (each for each in ended.output.splitlines() if each.startswith("pgbouncer"))
    assert "not installed" in line
    assert "apt-get install pgbouncer" in line
    assert [each.split()[0] for each in ended.output.splitlines()] == [
        "kafka",
        "postgres",
        "pgbouncer",
        "s3",
        "spark",
    ]


@pytest.mark.usefixtures("others_answer")
def test_a_server_that_everything_needs_still_fails_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot_start(*_: object) -> None:
        raise ToolMissingError("initdb", package="postgresql-15")

    monkeypatch.setattr("lab.tools.shutil", SimpleNamespace(which=missing("pgbouncer")))
    monkeypatch.setattr(check, "_check_postgres", cannot_start)
    ended = run_check()
    assert ended.exit_code == 1
    assert "apt-get install postgresql-15" in ended.output


@pytest.mark.usefixtures("others_answer")
def test_a_pgbouncer_that_is_there_and_does_not_answer_fails_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("expected 'round trip' through pgbouncer")

    monkeypatch.setattr(check, "_check_pgbouncer", refuse)
    assert run_check().exit_code == 1
