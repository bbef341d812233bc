from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import ConfigError
from holdfast.sinks.secrets import MAX_BYTES, reveal, shown_name


def test_a_secret_is_found_where_it_is_said_to_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("READINGS_DSN", "in the environment")
    (tmp_path / "dsn").write_text("in a file\n")
    assert reveal("env:READINGS_DSN") == "in the environment"
    assert reveal(f"file:{tmp_path / 'dsn'}") == "in a file"
    assert reveal(lambda: "by a function") == "by a function"


@pytest.mark.parametrize(
    "secret", ["env:NOT_SET_ANYWHERE", "file:/not/there", "postgresql://u:secret@h/d", "host=h"]
)
def test_one_that_is_not_there_or_is_plain_text_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(ConfigError) as refused:
        reveal(secret)
    assert "secret@" not in str(refused.value)


@pytest.mark.parametrize("content", ["", " \n", "a\0b", "x" * (MAX_BYTES + 1), "a\udcff"])
def test_what_cannot_be_a_dsn_is_refused(
    content: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "dsn").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError, match="dsn"):
        reveal(f"file:{tmp_path / 'dsn'}")
    with pytest.raises(ConfigError, match="lambda"):
        reveal(lambda: content)
    if "\0" not in content:
        monkeypatch.setenv("READINGS_DSN", content)
        with pytest.raises(ConfigError, match="READINGS_DSN"):
            reveal("env:READINGS_DSN")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Is a directory"):
        reveal(f"file:{tmp_path}")
    with pytest.raises(ConfigError, match="not UTF-8"):
        reveal("file:/run/\0")


def test_a_mark_of_windows_at_the_start_of_a_file_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "dsn").write_bytes(b"\xef\xbb\xbfhost=h\r\n")
    assert reveal(f"file:{tmp_path / 'dsn'}") == "host=h"


def test_a_function_that_raises_is_named_with_the_class_of_its_error() -> None:
    def from_the_vault() -> str:
        raise PermissionError("secret")

    with pytest.raises(ConfigError, match=r"from_the_vault.* raised PermissionError") as refused:
        reveal(from_the_vault)
    assert refused.value.__context__ is None
    with pytest.raises(ConfigError, match="returned int"):
        reveal(lambda: 5)  # type: ignore[arg-type,return-value]


def test_only_the_name_of_a_secret_is_shown() -> None:
    assert shown_name("env:DSN") == "env:DSN"
    assert shown_name("file:/run/dsn") == "file:/run/dsn"
    for secret in ("", "env:", "file:"):
        assert "secret" not in shown_name(f"{secret}postgresql://u:secret@h/d")
    assert shown_name(reveal) == "reveal"  # type: ignore[arg-type]
