"""Calls the command inside this process, and makes the modules that it is given importable."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.cli.main import run


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Call the command; return its exit code, and what it wrote to stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        run(list(arguments))
    assert isinstance(ended.value.code, int)
    return ended.value.code, *capsys.readouterr()


@contextmanager
def importable(
    place: Path, monkeypatch: pytest.MonkeyPatch, *, name: str, text: str
) -> Iterator[None]:
    """Write a module into a directory, and work there until the end."""
    (place / f"{name}.py").write_text(text)
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(str(place))
    yield
    sys.modules.pop(name, None)
