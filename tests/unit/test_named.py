from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import ConfigError
from holdfast.named import load_named, name_of


def start(spark: object, scratch: object) -> None: ...


def test_a_function_is_found_again_by_its_name(tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text("def start(spark, scratch): return 'started'\n")
    assert load_named(f"{app}:start")(None, None) == "started"
    assert name_of(start) == f"{Path(__file__).resolve()}:start"


def test_a_function_inside_another_cannot_be_found() -> None:
    with pytest.raises(ConfigError, match="at the top of its module"):
        name_of(lambda: None)


@pytest.mark.parametrize("text", ["raise KeyError('no')", "import nothing_of_this_name", "1 +"])
def test_a_module_that_cannot_be_imported_is_named(tmp_path: Path, text: str) -> None:
    app = tmp_path / "broken.py"
    app.write_text(text)
    with pytest.raises(ConfigError, match=r"broken\.py' cannot be imported"):
        load_named(f"{app}:start")


def test_a_name_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match="has no 'nothing'"):
        load_named("json:nothing")
