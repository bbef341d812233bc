"""`holdfast check FILE.py`: runs a program in a child process and returns what its queries are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import msgspec

from holdfast.errors import ConfigError, HoldfastError, MissingExtraError
from holdfast.redact import redact
from holdfast.rules.compatibility import CodeCheck
from holdfast.streams.program_answers import (
    ANSWERS,
    CHECKING,
    OUTPUT,
    REQUEST,
    Answer,
    ProgramEnded,
    QueryChecked,
    Request,
    WriteRefused,
)
from holdfast.wording import count

SECONDS = 300.0
_FORCED = {
    "spark.master": "local[2]",
    "spark.eventLog.enabled": "false",
}
_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.dynamicAllocation.enabled": "false",
    "spark.extraListeners": "",
    "spark.plugins": "",
    "spark.sql.queryExecutionListeners": "",
    "spark.sql.streaming.streamingQueryListeners": "",
    "spark.submit.deployMode": "client",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Of the session that a program gets: on this machine alone, and telling nothing to others."""
_JVM = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:-UsePerfData"
_LAST_LINES = 5
_MOST_WRITES = 5
Kind = TypeVar("Kind")


class ProgramNotCheckedError(HoldfastError):
    """A program came to no query that could be checked."""

    code = "NOT_CHECKED"

    def __init__(self, program: str, *, why: str, how: str) -> None:
        self.program = program
        super().__init__(what=f"{program} was not checked.", why=why, how=how)


def check_program(
    program: str,
    arguments: Sequence[str] = (),
    *,
    settings: Mapping[str, str],
    event_log: str | None = None,
    seconds: float = SECONDS,
) -> CodeCheck:
    """Run a program up to its starts, in a process of its own, and judge each of its queries.

    Args:
        program: A file of Python.
        arguments: Its arguments.
        settings: Of its Spark session; they win over those of the program.
        event_log: Where Spark's event logs are.
        seconds: How long it may take.

    Raises:
        ConfigError: There is no such file.
        MissingExtraError: PySpark is not installed.
        ProgramNotCheckedError: It came to no query.
    """
    if not Path(program).is_file():
        raise ConfigError(f"{program} is no file.")
    if find_spec("pyspark") is None:
        raise MissingExtraError("Checking a program", module="pyspark", extra="spark")
    with TemporaryDirectory(prefix="holdfast-check-") as directory:
        scratch = Path(directory)
        request = Request(
            program=program,
            arguments=tuple(arguments),
            settings={**_SETTINGS, **settings, **_FORCED, **_places(scratch)},
            event_log=event_log,
        )
        (scratch / REQUEST).write_bytes(msgspec.json.encode(request))
        status = _run(scratch, seconds)
        return _conclude(_Run(program, tuple(_read(scratch)), status, seconds, scratch))


def _places(scratch: Path) -> dict[str, str]:
    """Return settings that have Spark put what it needs for itself into a directory."""
    return {
        "spark.checkpoint.dir": str(scratch / "checkpoints"),
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }


def _run(scratch: Path, seconds: float) -> int | None:
    """Run the child; return its exit code, or None when its time was over."""
    command = [sys.executable, "-P", "-m", "holdfast.streams.program_run", str(scratch)]
    places = f"-Djava.io.tmpdir={scratch} -Dderby.system.home={scratch}"
    environment = {
        **os.environ,
        CHECKING: "1",
        "JDK_JAVA_OPTIONS": f"{_JVM} {places} {os.environ.get('JDK_JAVA_OPTIONS', '')}".strip(),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    with (scratch / OUTPUT).open("wb") as output:
        child = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            return child.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:  # its JVM too, whatever has happened
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _read(scratch: Path) -> Iterator[Answer]:
    path = scratch / ANSWERS
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else ()
    for line in lines:  # one that was cut off by a kill has no end
        yield msgspec.json.decode(line, type=Answer)


class _Run(msgspec.Struct, frozen=True):
    """How a program was run."""

    program: str
    answers: tuple[Answer, ...]
    status: int | None
    """None when its time was over."""
    seconds: float
    scratch: Path

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [each for each in self.answers if isinstance(each, kind)]

    def last_lines(self) -> str:
        text = (self.scratch / OUTPUT).read_text(errors="replace")
        return redact("\n".join(text.rstrip().splitlines()[-_LAST_LINES:]))


def _conclude(run: _Run) -> CodeCheck:
    """Return what a program came to.

    Raises:
        ProgramNotCheckedError: That is nothing.
    """
    checks = tuple(each.check for each in run.of(QueryChecked))
    stopped = _why_stopped(run)
    if checks:
        return CodeCheck(name=run.program, checks=checks, unknown=tuple(why for why, _ in stopped))
    for why, how in stopped:
        raise ProgramNotCheckedError(run.program, why=why, how=how)
    raise ProgramNotCheckedError(
        run.program,
        why="It ended without starting a streaming query.",
        how="Give the arguments with which it starts one, after `--`.",
    )


def _why_stopped(run: _Run) -> list[tuple[str, str]]:
    """Return why a program was not run to its end, and what to do; nothing when it was."""
    ended = run.of(ProgramEnded)
    refused = run.of(WriteRefused)
    found: list[tuple[str, str]] = [
        (
            f"It would have written at {each.where} ({each.what}): that was refused, and what "
            "follows may have gone another way.",
            f"Leave the write out where the environment variable {CHECKING} is set.",
        )
        for each in refused[:_MOST_WRITES]
    ]
    if (more := len(refused) - _MOST_WRITES) > 0:
        found.append((f"{count(more, 'more write')} of it were refused.", ""))
    if run.status is None:
        return [*found, (f"It did not end within {run.seconds:g} s.", "Give more with --timeout.")]
    if not ended:
        ended_with = f"Its process ended with exit code {run.status} before the program did."
        why = f"{ended_with} It said last: {run.last_lines()}"
        return [*found, (why, "Run it with Python alone, and fix what ends it.")]
    if ended[0].error is not None and not refused:
        where = f" at {ended[0].where}" if ended[0].where else ""
        how = "Run it with Python alone to see the complete traceback. Settings: --conf."
        found.append((f"It failed{where}: {ended[0].error}.", how))
    return found
