"""The change that an adoption makes to a program, and the program with it applied."""

from __future__ import annotations

import subprocess
from pathlib import Path

from holdfast.adoption.into_sink import IntoSink, NamedTable, NoSink
from holdfast.adoption.model import ProgramChange
from holdfast.adoption.program import CodeFile, ProgramOfStream, read_program_of
from holdfast.lint.query_facts import WhichQuery


def read(
    text: str | bytes, *, path: str = "job.py", checkpoint: str | None = None
) -> ProgramOfStream:
    content = text if isinstance(text, bytes) else text.encode()
    which = WhichQuery(
        is_checkpoint=lambda place: None if checkpoint is None else place == checkpoint
    )
    found = read_program_of(CodeFile(path=path, content=content, which=which))
    assert isinstance(found, ProgramOfStream), found
    return found


def sink_of(text: str, *, named: NamedTable | None = None) -> IntoSink | NoSink:
    return read(text).find_sink(named)


def change(
    text: str | bytes, *, path: str = "job.py", checkpoint: str | None = None
) -> ProgramChange:
    program = read(text, path=path, checkpoint=checkpoint)
    into = program.find_sink(None)
    sink = into if isinstance(into, IntoSink) else None
    return program.change(stream="orders", root="/srv/cp", into=sink, checkpoint="/srv/cp/orders")


def apply(place: Path, text: str | bytes, diff: str, *, path: str = "job.py") -> str:
    """Apply what was printed with a tool that knows nothing of it, and return the program."""
    file = place / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    subprocess.run(["git", "apply", "-"], cwd=place, input=diff.encode(), check=True)
    return file.read_text()
