"""Moving directories on this machine's disk, in one step or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.errors import WriteError
from holdfast.storage.location import parse_location
from holdfast.storage.move_local import LocalMover
from holdfast.storage.moving import Mover
from tests.mover_contract import MoverContract


class TestLocal(MoverContract):
    @pytest.fixture
    def empty(self, tmp_path: Path) -> Mover:
        return LocalMover(parse_location(str(tmp_path / "place")))

    def test_another_file_system_is_an_error_and_not_a_copy(
        self, mover: Mover, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise OSError(18, os.strerror(18))

        monkeypatch.setattr(os, "rename", refuse)
        monkeypatch.setattr(Path, "rename", refuse)
        with pytest.raises(WriteError, match="cross-device"):
            mover.move("from", "into/to")
