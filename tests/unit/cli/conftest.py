"""What the tests of the command line share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import calling
from tests.unit.cli.inspecting import Inspect


@pytest.fixture
def inspect(capsys: pytest.CaptureFixture[str]) -> Inspect:
    def call(*arguments: str | Path) -> tuple[int, list[str]]:
        code, out, _ = calling.call(capsys, "inspect", *map(str, arguments))
        return code, out.splitlines()

    return call
