from __future__ import annotations

import subprocess
import sys

import click
import pytest

from holdfast import __version__
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.main import holdfast, run
from holdfast.drills.errors import NotRepeatableError
from holdfast.errors import HoldfastError, MissingExtraError, ReadError, WriteError
from holdfast.sinks.postgres.failures import ServerRefusedError


def exit_code(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exited:
        run(list(arguments))
    assert isinstance(exited.value.code, int)
    return exited.value.code


def raising(error: BaseException) -> click.Command:
    @click.command("broken")
    def broken() -> None:
        raise error

    return broken


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> dict[str, click.Command]:
    verbs: dict[str, click.Command] = {}
    monkeypatch.setattr(holdfast, "commands", verbs)
    return verbs


def test_version_is_the_version_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("--version") == 0
    assert capsys.readouterr().out == f"holdfast, version {__version__}\n"


def test_help_says_what_it_is_for_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("--help") == 0
    assert "Make restarting a Spark Structured Streaming pipeline safe" in capsys.readouterr().out


def test_an_unknown_verb_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("fly") == ExitCode.USAGE
    assert "fly" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (HoldfastError(what="a", why="b", how="c"), ExitCode.REFUSED),
        (MissingExtraError("a", module="pyspark", extra="spark"), ExitCode.USAGE),
        (ReadError("a", why="b", how="c"), ExitCode.NOT_JUDGED),
        (NotRepeatableError("a", only_first=1, only_second=0), ExitCode.NOT_JUDGED),
        (WriteError("a", why="b", how="c"), ExitCode.STOPPED),
        (click.Abort(), ExitCode.INTERRUPTED),
        (ZeroDivisionError(), ExitCode.BUG),
    ],
)
def test_each_kind_of_error_has_its_exit_code(
    error: BaseException, expected: ExitCode, verb: dict[str, click.Command]
) -> None:
    verb["broken"] = raising(error)
    assert exit_code("broken") == expected


def test_an_error_prints_its_code_and_its_three_sentences_on_stderr(
    verb: dict[str, click.Command], capsys: pytest.CaptureFixture[str]
) -> None:
    verb["broken"] = raising(HoldfastError(what="What.", why="Why.", how="How."))
    exit_code("broken")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "HOLDFAST\n  What.\n  Why.\n  How.\n"


def test_every_line_of_an_error_is_a_line(
    verb: dict[str, click.Command], capsys: pytest.CaptureFixture[str]
) -> None:
    """An excerpt of a log has many; anything else that steers a terminal stays escaped."""
    error = HoldfastError(what="What.", why="The log:\nfirst\nsec\x1bond", how="How.")
    verb["broken"] = raising(error)
    exit_code("broken")
    assert capsys.readouterr().err == (
        "HOLDFAST\n  What.\n  The log:\n  first\n  sec\\x1bond\n  How.\n"
    )


def test_python_dash_m_is_the_same_command() -> None:
    command = [sys.executable, "-m", "holdfast", "--version"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert output == f"holdfast, version {__version__}\n"


def test_importing_holdfast_imports_no_guest() -> None:
    guests = "{'pyspark', 'pandas', 'pyarrow', 'psycopg', 'boto3', 'botocore', 'jinja2', 'rich'}"
    code = f"import sys, holdfast.cli.main; print(sorted({guests} & set(sys.modules)))"
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert output.strip() == "[]"


def test_the_ledgers_tables_are_printed_for_a_dba(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("ledger", "ddl") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("CREATE SCHEMA IF NOT EXISTS holdfast;\n")
    assert printed.endswith(";\n")


def test_the_rights_of_a_role_are_printed_behind_the_tables(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert exit_code("ledger", "ddl", "--role", 'stream "role"') == 0
    assert capsys.readouterr().out.splitlines()[-4:] == [
        'GRANT USAGE ON SCHEMA holdfast TO "stream ""role""";',
        'GRANT SELECT ON holdfast.version TO "stream ""role""";',
        'GRANT SELECT, INSERT, UPDATE ON holdfast.ledger TO "stream ""role""";',
        'GRANT SELECT, INSERT ON holdfast.history TO "stream ""role""";',
    ]


def test_a_missing_right_names_the_command_that_prints_them() -> None:
    refused = ServerRefusedError("t", None, sqlstate="42501", said="permission denied")
    assert "holdfast ledger ddl --role ROLE" in refused.how
    assert "ledger ddl" not in ServerRefusedError("t", 3, sqlstate="55P03", said="x").how
