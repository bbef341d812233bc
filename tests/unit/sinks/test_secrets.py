from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import ConfigError
from holdfast.sinks.secrets import reveal, shown_name


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
def test_one_that_is_not_there_or_in_the_open_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(ConfigError) as refused:
        reveal(secret)
    assert "secret@" not in str(refused.value)


def test_only_the_name_of_a_secret_is_shown() -> None:
    assert shown_name("env:DSN") == "env:DSN"
    assert shown_name("file:/run/dsn") == "file:/run/dsn"
    assert "secret" not in shown_name("postgresql://u:secret@h/d")
    assert shown_name(reveal) == "reveal"  # type: ignore[arg-type]
