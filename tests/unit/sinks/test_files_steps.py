"""The files sink on a disk, killed and paused before every single change that it makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.sinks.files_on_disk import DiskLake
from tests.unit.sinks.files_steps import FilesSteps, Lakes

pytestmark = pytest.mark.sampled(5)


class TestDisk(FilesSteps):
    @pytest.fixture
    def lakes(self, tmp_path: Path) -> Lakes:
        return lambda name: DiskLake(tmp_path / str(name))
