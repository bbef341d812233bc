"""Which settings a drill gives Spark, and which it leaves to its user."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from holdfast.drills import given_settings
from holdfast.drills.given_settings import is_given
from holdfast.drills.jvm import jvm_environment
from holdfast.drills.programs.drill_session import SETTINGS

SHUFFLE = "spark.sql.shuffle.partitions"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which Spark finds its settings; it is not there yet."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    return tmp_path / "spark-defaults.conf"


@pytest.mark.usefixtures("settings")
def test_without_settings_of_the_user_a_drill_has_its_own() -> None:
    assert not any(map(is_given, SETTINGS))


@pytest.mark.parametrize("line", [f"{SHUFFLE} 8", f"  {SHUFFLE}=8", f"a 1\n{SHUFFLE}:\t8"])
def test_what_stands_in_sparks_file_wins(settings: Path, line: str) -> None:
    settings.write_text(f"{line}\n")
    assert [name for name in SETTINGS if is_given(name)] == [SHUFFLE]


@pytest.mark.parametrize("line", [f"# {SHUFFLE} 8", f"{SHUFFLE}.other 8", f"other.{SHUFFLE} 8"])
def test_another_name_or_a_comment_is_no_setting(settings: Path, line: str) -> None:
    settings.write_text(f"{line}\n")
    assert not is_given(SHUFFLE)


def test_what_is_passed_to_spark_submit_wins(
    settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--conf {SHUFFLE}=8 pyspark-shell")
    assert is_given(SHUFFLE)
    other = settings.with_name("other.conf")
    other.write_text(f"{SHUFFLE} 8\n")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--properties-file {other} pyspark-shell")
    assert is_given(SHUFFLE)


def test_sparks_own_directory_is_looked_into(
    settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = settings.parent / "home"
    (home / "conf").mkdir(parents=True)
    (home / "conf" / settings.name).write_text(f"{SHUFFLE} 8\n")
    monkeypatch.setenv("SPARK_HOME", str(home))
    assert not is_given(SHUFFLE), "SPARK_CONF_DIR stands in its place"
    monkeypatch.delenv("SPARK_CONF_DIR")
    assert is_given(SHUFFLE)


def test_the_package_of_pyspark_is_looked_into(
    settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = settings.parent / "pyspark"
    (package / "conf").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "conf" / settings.name).write_text(f"{SHUFFLE} 8\n")
    monkeypatch.delenv("SPARK_CONF_DIR")
    monkeypatch.delenv("SPARK_HOME", raising=False)
    places = SimpleNamespace(submodule_search_locations=[str(package)])
    monkeypatch.setattr(given_settings, "find_spec", {"pyspark": places}.get)
    assert is_given(SHUFFLE)
    monkeypatch.setattr(given_settings, "find_spec", lambda _: None)
    assert not is_given(SHUFFLE)


@pytest.mark.usefixtures("settings")
def test_the_options_of_the_user_for_java_come_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=4")
    assert options_for_java()[-1] == "-XX:TieredStopAtLevel=4"
    monkeypatch.delenv("JDK_JAVA_OPTIONS")
    assert options_for_java()[0] == "-XX:TieredStopAtLevel=1"


def options_for_java() -> list[str]:
    return jvm_environment()["JDK_JAVA_OPTIONS"].split()
