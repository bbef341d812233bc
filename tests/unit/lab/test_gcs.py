from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.errors import InstallFailedError, ToolMissingError
from lab.gcs import install_fake_gcs_server


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOLDFAST_LAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def use_go(program: Path | None, monkeypatch: pytest.MonkeyPatch) -> None:
    found = SimpleNamespace(which=lambda *_, **__: program and str(program))
    monkeypatch.setattr("lab.tools.shutil", found)


def write_go(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_without_go_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    use_go(None, monkeypatch)
    with pytest.raises(ToolMissingError, match="golang-go"):
        install_fake_gcs_server()
    assert list(cache.iterdir()) == []


def test_a_build_that_fails_says_what_go_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    use_go(write_go(tmp_path / "go", "echo no such module >&2; exit 1"), monkeypatch)
    with pytest.raises(
        InstallFailedError, match=r"`go install .*fake-gcs-server@v[\d.]+` failed"
    ) as e:
        install_fake_gcs_server()
    assert "no such module" in str(e.value)
    assert list(cache.iterdir()) == []


def test_it_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_go(write_go(tmp_path / "go", 'echo "$@" > "$GOBIN/fake-gcs-server"'), monkeypatch)
    built = install_fake_gcs_server()
    use_go(None, monkeypatch)
    assert install_fake_gcs_server() == built
    assert (built / "fake-gcs-server").read_text().startswith("install ")
