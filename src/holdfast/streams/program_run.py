"""The child process of `holdfast check FILE.py`: runs a program up to its starts, and judges each.

Nothing is started and Spark writes nothing. Every answer is a line of a file, written when it is
known: what a program does after a start, or how it is ended, takes no answer away.
"""

from __future__ import annotations

import os
import runpy
import sys
import sysconfig
import threading
import traceback
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from holdfast.errors import HoldfastError
from holdfast.rules.compatibility import StreamCheck
from holdfast.spark.errors import first_line, spark_errors
from holdfast.spark.port import read_writer, record_starts
from holdfast.streams import recording
from holdfast.streams.checking import check_declared
from holdfast.streams.declared import Declared
from holdfast.streams.plain_check import check_plain
from holdfast.streams.program_answers import (
    ANSWERS,
    CHECKING,
    REQUEST,
    Answer,
    ProgramEnded,
    QueryChecked,
    Request,
    WriteRefused,
)
from holdfast.streams.start import Start

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_PACKAGES = ("holdfast", "py4j", "pyspark")
_DIRECTORIES = (
    sysconfig.get_path("stdlib"),
    *(str(Path(str(each.origin)).parent) for name in _PACKAGES if (each := find_spec(name))),
)
_NOT_OURS = tuple(f"{each}{os.sep}" for each in _DIRECTORIES)
"""Where the frames of a stack are that are not the program's."""


class WriteRefusedError(HoldfastError):
    """A program that is only checked would have written."""

    code = "WRITE_REFUSED"

    def __init__(self, what: str) -> None:
        super().__init__(
            what=f"{what} was not run.",
            why="`holdfast check` runs a program without letting it write.",
            how=f"Leave it out where the environment variable {CHECKING} is set.",
        )


class NotStartedQuery:
    """Stands for a query that was not started: it has ended, and nothing waits for it."""

    def __init__(self, name: str | None) -> None:
        """Stand for a query of a name."""
        self.name = name
        ended: dict[str, object] = {"isActive": False, "lastProgress": None, "recentProgress": []}
        told = {"message": "holdfast check starts no query", "isDataAvailable": False}
        vars(self).update(ended, id=str(uuid4()), runId=str(uuid4()), status=told)

    def _return(self, *_: object, **__: object) -> bool:
        return True

    awaitTermination = processAllAvailable = stop = explain = _return  # noqa: N815 - as Spark's

    def exception(self) -> None:
        """Return none."""


class Recorder:
    """Judges every start of a program, and refuses what it would write."""

    def __init__(self, answers: Path, event_log: str | None) -> None:
        """Take nothing yet.

        Args:
            answers: The file that takes each answer as a line.
            event_log: Where Spark's event logs are; None without them.
        """
        self._answers, self._event_log = answers, event_log

    def started(self, writer: DataStreamWriter, table: str | None) -> NotStartedQuery:
        """Judge a plain query instead of starting it."""
        told = read_writer(writer)
        name = told.query_name
        try:
            check = check_plain(told, table=table, checkpoint=None, event_log=self._event_log)
        except _uncomparable() as error:
            check = _not_compared(name or told.checkpoint or told.format, error)
        return self._take(check, name)

    def started_guarded(self, start: Start) -> NotStartedQuery:
        """Judge a guarded query, with its record, instead of starting it."""
        options = {"outputMode": start.output_mode, "checkpoint": start.checkpoint}
        declared = Declared(
            name=start.stream, build=lambda _: start.df, sinks=start.sinks, options=options
        )
        try:
            check = check_declared(declared, start.df, root=start.root)
        except _uncomparable() as error:
            check = _not_compared(start.stream, error)
        return self._take(check, start.stream)

    def refuse(self, what: str) -> WriteRefusedError:
        """Note what would have been written."""
        self.answer(WriteRefused(what, _where_now()))
        return WriteRefusedError(what)

    def answer(self, answer: Answer) -> None:
        """Write an answer down."""
        with self._answers.open("ab") as file:
            file.write(msgspec.json.encode(answer) + b"\n")

    def _take(self, check: StreamCheck, name: str | None) -> NotStartedQuery:
        if check.query is not None:
            check = replace(check, query=replace(check.query, where=_where_now()))
        self.answer(QueryChecked(check))
        return NotStartedQuery(name)


def _uncomparable() -> tuple[type[Exception], ...]:
    return HoldfastError, *spark_errors()


def _not_compared(name: str, error: Exception) -> StreamCheck:
    why = f"{error.what} {error.why}" if isinstance(error, HoldfastError) else first_line(error)
    return StreamCheck(stream=name, unknown=(f"It could not be compared: {why}",))


def _where_now() -> str:
    """Return the line of the program that is run now; Spark calls back in a thread of its own."""
    here = _where(traceback.extract_stack())
    main = sys._current_frames().get(threading.main_thread().ident or 0)  # noqa: SLF001 - documented
    return here or _where(traceback.extract_stack(main))


def _where(stack: Iterable[traceback.FrameSummary]) -> str:
    """Return the innermost line of a stack that is the program's: `jobs/orders.py:41`."""
    own = [each for each in stack if not each.filename.startswith((*_NOT_OURS, "<"))]
    if not own:
        return ""
    path, here = Path(own[-1].filename), Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return f"{shown}:{own[-1].lineno}"


def run_program(program: str) -> ProgramEnded:
    """Run a program as Python does; return how it ended."""
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as end:
        if end.code in (None, 0):
            return ProgramEnded()
        return ProgramEnded(f"it ended with exit code {end.code}")
    except Exception as error:  # noqa: BLE001 - a user's program can raise anything
        where = _where(traceback.extract_tb(error.__traceback__))
        return ProgramEnded(f"{type(error).__name__}: {first_line(error)}", where)
    return ProgramEnded()


class _NotRecording:
    """Stands for what `hf.record_queries` returns: it writes nothing."""

    lost, failed = 0, None

    def stop(self, *_: object) -> bool:
        """Return at once."""
        return True


def main(scratch: Path) -> None:
    """Run what was asked for in a directory, and write the answers there."""
    asked = scratch / REQUEST
    request = msgspec.json.decode(asked.read_bytes(), type=Request)
    asked.unlink()  # settings can be secrets
    recorder = Recorder(scratch / ANSWERS, request.event_log)
    record_starts(recorder, request.settings)
    setattr(Start, "go", lambda start: recorder.started_guarded(start))  # noqa: B010, PLW0108 - a function is bound
    setattr(recording, "record_queries", lambda *_, **__: _NotRecording())  # noqa: B010
    sys.argv = [request.program, *request.arguments]
    sys.path.insert(0, str(Path(request.program).parent))
    recorder.answer(run_program(request.program))
    sys.stdout.flush()
    os._exit(0)  # threads of the program do not keep it


if __name__ == "__main__":
    main(Path(sys.argv[1]))
