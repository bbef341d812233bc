"""What the tests of the guides to pipelines share: the module of a page."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.calling import importable


def as_lake(
    module: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> AbstractContextManager[None]:
    """Make the module of a page importable as `lake`, with its places below a directory."""
    here = re.sub(r'"(in|streams|lake/[a-z]+)"', rf'"{place}/\1"', module)
    return importable(place, monkeypatch, name="lake", text=here)
