from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
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


@pytest.fixture
def unchanged_imports() -> Iterator[None]:
    """Put back what the process imports, and from where."""
    modules, path = dict(sys.modules), list(sys.path)
    yield
    sys.modules.clear()
    sys.modules.update(modules)
    sys.path[:] = path


# Loaded already, not loaded yet, of another package, of Holdfast itself.
@pytest.mark.usefixtures("unchanged_imports")
@pytest.mark.parametrize("name", ["json", "this", "click", "holdfast", "antigravity"])
def test_a_file_with_the_name_of_another_module_does_not_replace_it(
    name: str, tmp_path: Path
) -> None:
    sys.modules.pop("this", None)
    there = importlib.util.find_spec(name)
    app = tmp_path / f"{name}.py"
    app.write_text("import json\nmine = json.dumps([1])\n")
    assert load_named(f"{app}:mine") == "[1]"
    after = importlib.util.find_spec(name)
    assert there is not None
    assert after is not None
    assert after.origin == there.origin
    assert name not in sys.modules or sys.modules[name].__file__ != str(app)


@pytest.mark.usefixtures("unchanged_imports")
def test_a_file_beside_it_does_not_replace_the_standard_library(tmp_path: Path) -> None:
    sys.modules.pop("this", None)
    (tmp_path / "this.py").write_text("raise ValueError\n")
    (tmp_path / "beside_it.py").write_text("value = 7\n")
    app = tmp_path / "app_of_this_test.py"
    app.write_text("import beside_it\nfound = beside_it.value\n")
    assert load_named(f"{app}:found") == 7
    there = importlib.util.find_spec("this")
    assert there is not None
    assert there.origin != str(tmp_path / "this.py")
    assert load_named("app_of_this_test:found") == 7


@pytest.mark.usefixtures("unchanged_imports")
def test_a_file_that_is_loaded_twice_keeps_its_name(tmp_path: Path) -> None:
    app = tmp_path / "app_of_this_test.py"
    app.write_text("def start(): ...\n")
    names = [load_named(f"{app}:start").__module__ for _ in range(2)]
    assert names == ["app_of_this_test", "app_of_this_test"]
