from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from holdfast.drills.kill.shim import (
    KILL,
    CompilerMissingError,
    NotPreloadableError,
    build_shim,
)


@pytest.mark.parametrize("name", ["two words", "a:b", "tab\tbed"])
def test_a_directory_that_ends_early_for_the_linker_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotPreloadableError, match="--directory"):
        build_shim(KILL, tmp_path / name)


def test_without_a_compiler_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(CompilerMissingError, match="gcc"):
        build_shim(KILL, tmp_path)
