"""What the tests of the command line share."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.cli.main import run
from tests.unit.cli.inspecting import Inspect


@pytest.fixture
def inspect(capsys: pytest.CaptureFixture[str]) -> Inspect:
    def call(*arguments: str | Path) -> tuple[int, list[str]]:
        with pytest.raises(SystemExit) as exited:
            run(["inspect", *map(str, arguments)])
        assert isinstance(exited.value.code, int)
        return exited.value.code, capsys.readouterr().out.splitlines()

    return call
