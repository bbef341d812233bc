"""One hostile checkpoint in a process of its own, in which every file that is opened is seen.

The process is forked from one that has everything imported. It runs the command itself, as text and
as JSON, and tells what came out, how long it took, how far its memory grew and what it touched.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import resource
import sys
import time
import traceback
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

import holdfast
from holdfast.cli import inspect as _warm  # noqa: F401 - imported before a case is forked
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.inspect_json import render_json
from holdfast.cli.inspect_text import render_text
from holdfast.cli.inspection import inspect_checkpoint
from holdfast.cli.main import run
from holdfast.printable import printable
from holdfast.record.layout import HOME
from holdfast.storage.memory import MemoryStorage

PATIENCE_S = 20.0
"""After this a process is stuck and is killed."""
FORMS = ("text", "json")
_CHANGES = ("shutil.", "socket.", "subprocess.", "tempfile.", "os.")
_LOOKS = ("open", "os.scandir", "os.listdir")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Ran(msgspec.Struct, kw_only=True):
    """What one form of the command did."""

    exit_code: int
    output: str
    errors: str
    cpu_seconds: float


class Witnessed(msgspec.Struct, kw_only=True):
    """What a process did."""

    runs: dict[str, Ran] = {}
    grown_bytes: int = 0
    touched: list[str] = []
    """What was opened outside, or written anywhere."""
    opened_inside: list[str] = []
    stuck: bool = False


def witness(checkpoint: Path | dict[str, bytes]) -> Witnessed:
    """Run `holdfast inspect --state --files` on a directory, or the same on files in memory."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "pyarrow"])
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_tell, args=(theirs, checkpoint), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(PATIENCE_S):
            return Witnessed(stuck=True)
        return msgspec.msgpack.decode(ours.recv_bytes(), type=Witnessed)
    except EOFError:
        return Witnessed(touched=["the process died"])
    finally:
        process.kill()
        process.join()
        ours.close()


def _tell(connection: Connection, checkpoint: Path | dict[str, bytes]) -> None:
    seen = Witnessed()
    before = _peak_bytes()
    inside = str(checkpoint) if isinstance(checkpoint, Path) else None
    sys.addaudithook(Watch(inside, seen))
    for form in FORMS:
        seen.runs[form] = _run(checkpoint, form)
    seen.grown_bytes = _peak_bytes() - before
    connection.send_bytes(msgspec.msgpack.encode(seen))


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _run(checkpoint: Path | dict[str, bytes], form: str) -> Ran:
    output, errors = _Stream(), _Stream()
    began = time.process_time()
    with redirect_stdout(output), redirect_stderr(errors):
        if isinstance(checkpoint, Path):
            code = _run_command(checkpoint, form)
        else:
            code = _run_in_memory(checkpoint, form)
    spent = time.process_time() - began
    return Ran(exit_code=code, output=output.content(), errors=errors.content(), cpu_seconds=spent)


def _run_command(directory: Path, form: str) -> int:
    try:
        run(["inspect", str(directory), "--state", "--files", "--format", form])
    except SystemExit as left:
        return int(left.code or 0)
    raise AssertionError("the command always leaves with a code")


def _run_in_memory(files: dict[str, bytes], form: str) -> int:
    try:
        return _show(MemoryStorage(files), form)
    except Exception:  # noqa: BLE001 - as the command does it
        traceback.print_exc()
        return ExitCode.BUG


def _show(storage: MemoryStorage, form: str) -> int:
    inspection = inspect_checkpoint(storage, state=True, files=True)
    if form == "json":
        print(render_json(inspection))
    else:
        for line in render_text(inspection, now=datetime(2030, 1, 1, tzinfo=UTC)):
            print(printable(line))
    return ExitCode.DONE


class _Stream(io.TextIOWrapper):
    """What a terminal or a pipe takes: UTF-8, and an error for what is not."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", errors="strict", newline="")

    def content(self) -> str:
        self.flush()
        raw = self.buffer
        assert isinstance(raw, io.BytesIO)
        return raw.getvalue().decode()


class Watch:
    """Sees every file that Python opens, in every thread."""

    def __init__(self, inside: str | None, seen: Witnessed) -> None:
        places = {sys.prefix, f"{sys.base_prefix}/lib", str(Path(holdfast.__file__).parent)}
        self._python = tuple(os.path.realpath(place) + "/" for place in places)
        # Rules of other packages are looked for where Python looks for packages. Python lists such
        # a directory again when something was written there, such as the coverage of another run.
        self._searched = {os.path.realpath(place) for place in sys.path}
        self._inside = None if inside is None else os.path.realpath(inside)
        above, name = os.path.split(self._inside or "")
        self._record = f"{above}/{HOME}/{name}/"
        self._seen = seen
        self._resolved: dict[str, str] = {}

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in _LOOKS and isinstance(arguments[0], str | bytes):
            path, flags = arguments[0], arguments[2] if event == "open" else 0
            wrote = isinstance(flags, int) and bool(flags & _WRITES)
            is_search = event != "open" and os.path.realpath(path) in self._searched
            if wrote or not (is_search or self._may_read(os.fsdecode(path))):
                self._seen.touched.append(f"{event} {os.fsdecode(path)!r}")
        elif event not in _LOOKS and event.startswith(_CHANGES):
            self._seen.touched.append(f"{event} {arguments!r:.200}")

    def _resolve(self, path: str) -> str:
        """Return where a path leads; of directories in each other, each is asked only once."""
        above, name = os.path.split(path)
        if above in self._resolved and not Path(path).is_symlink():
            real = f"{self._resolved[above]}/{name}"
        else:
            real = os.path.realpath(path)
        self._resolved[path] = real
        return real

    def _may_read(self, path: str) -> bool:
        real = self._resolve(path)
        if self._inside is not None and (real + "/").startswith(self._inside + "/"):
            self._seen.opened_inside.append(path)
            return True
        return real.startswith(self._python) or (real + "/").startswith(self._record)
