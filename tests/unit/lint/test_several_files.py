"""What only several files show together: a shared checkpoint, a constant of another module."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.lint.check import FileReport
from holdfast.lint.files import check_paths
from tests.house.repository import ROOT

COPY = (
    'spark.readStream.table("{0}").writeStream.option("checkpointLocation", "{1}").toTable("{2}")\n'
)
SAVE = """\
def save(b, i):
    b.write.mode("overwrite").save("{0}")

df.writeStream.foreachBatch(save).option("checkpointLocation", "{1}").start()
"""
TXN = """\
{0}

def save(b, i):
    named = b.write.format("delta").option("txnAppId", {1}).option("txnVersion", i)
    named.mode("append").save("/t")

df.writeStream.foreachBatch(save).option("checkpointLocation", cp).start()
"""
SHARED = {
    "two tables": (COPY.format("a", "/cp", "x"), COPY.format("a", "/cp", "y")),
    "two sources": (COPY.format("a", "/cp", "x"), COPY.format("b", "/cp", "x")),
    "foreachBatch": (SAVE.format("/x", "s3://cp/a"), SAVE.format("/y", "s3://cp/a")),
    "foreachBatch and a table": (SAVE.format("/x", "/cp"), COPY.format("a", "/cp", "y")),
    "a slash at the end": (COPY.format("a", "/cp", "x"), COPY.format("a", "/cp/", "y")),
    "a relative location": (COPY.format("a", "cp", "x"), COPY.format("a", "cp", "y")),
}
NOT_SHARED = {
    "two checkpoints": (COPY.format("a", "/cp/x", "x"), COPY.format("a", "/cp/y", "y")),
    "one query in two files": (COPY.format("a", "/cp", "x"), COPY.format("a", "/cp", "x")),
    "what is not known": ('df.writeStream.option("checkpointLocation", CP).toTable("x")\n',) * 2,
    "a query to look at": (
        COPY.format("a", "/cp", "x"),
        'df.writeStream.format("console").option("checkpointLocation", "/cp").start()\n',
    ),
    "an ignored line": (
        COPY.format("a", "/cp", "x"),
        COPY.format("a", "/cp", "y").rstrip() + "  # holdfast: ignore[HF804]\n",
    ),
}
IMPORTED = {
    "a name": ("from config import APP", "APP"),
    "another name for it": ("from config import APP as name", "name"),
    "a module": ("import config", "config.APP"),
    "another name for a module": ("import config as c", "c.APP"),
    "a module of a package": ("from jobs import config", "config.APP"),
    "a name of a package": ("from jobs.config import APP", "APP"),
    "a relative name": ("from .config import APP", "APP"),
    "a relative module": ("from . import config", 'f"{config.APP}/typed"'),
    "everything": ("from config import *", "APP"),
    "a class": ("from config import Settings", "Settings.APP"),
    "a text that is made of others": ("from config import LONG", "LONG"),
}
NOT_IMPORTED = {
    "a module that is not there": ("from elsewhere import APP", "APP"),
    "a name that is not there": ("from config import OTHER", "OTHER"),
    "a name with two values": ("from config import TWICE", "TWICE"),
    "what a function returns": ("from config import MADE", "MADE"),
    "a module that does not parse": ("from broken import APP", "APP"),
}
CONFIG = """\
import uuid

APP = "orders"
LONG = f"{APP}/typed"
TWICE = "a"
TWICE = "b"
MADE = str(uuid.uuid4())


class Settings:
    APP = "orders"
"""


def check(directory: Path, files: dict[str, str]) -> list[FileReport]:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return check_paths((str(directory),))


def found(reports: list[FileReport]) -> list[tuple[str, str]]:
    return [
        (Path(report.path).name, each.finding.code)
        for report in reports
        for each in report.findings
    ]


@pytest.mark.parametrize("texts", SHARED.values(), ids=SHARED)
def test_a_checkpoint_of_two_files_is_found_in_the_second(
    tmp_path: Path, texts: tuple[str, str]
) -> None:
    reports = check(tmp_path, {"one.py": texts[0], "two.py": texts[1]})
    assert ("two.py", "HF804") in found(reports)
    assert ("one.py", "HF804") not in found(reports)
    shared = [each for each in reports[1].findings if each.finding.code == "HF804"]
    assert len(shared) == 1
    assert f"A query in {tmp_path / 'one.py'}, line " in shared[0].finding.message


@pytest.mark.parametrize("texts", NOT_SHARED.values(), ids=NOT_SHARED)
def test_queries_of_two_files_are_not_found_if_they_need_not_meet(
    tmp_path: Path, texts: tuple[str, str]
) -> None:
    assert "HF804" not in [
        code for _, code in found(check(tmp_path, {"one.py": texts[0], "two.py": texts[1]}))
    ]


def test_a_relative_location_of_two_directories_is_not_one(tmp_path: Path) -> None:
    files = {"a/one.py": COPY.format("a", "cp", "x"), "b/two.py": COPY.format("a", "cp", "y")}
    assert found(check(tmp_path, files)) == []


def test_many_files_are_compared_too(tmp_path: Path) -> None:
    files = {f"{number:03}.py": "x = 1\n" for number in range(250)}
    files |= {"100.py": COPY.format("a", "/cp", "x"), "249.py": COPY.format("a", "/cp", "y")}
    assert found(check(tmp_path, files)) == [("249.py", "HF804")]


@pytest.mark.parametrize("names", IMPORTED.values(), ids=IMPORTED)
def test_a_constant_of_another_module_is_followed(tmp_path: Path, names: tuple[str, str]) -> None:
    files = {"jobs/config.py": CONFIG, "jobs/job.py": TXN.format(*names)}
    assert found(check(tmp_path, files)) == [("job.py", "HF814")]


@pytest.mark.parametrize("names", NOT_IMPORTED.values(), ids=NOT_IMPORTED)
def test_what_another_module_does_not_say_is_not_guessed(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    files = {"config.py": CONFIG, "broken.py": "APP = ", "job.py": TXN.format(*names)}
    assert found(check(tmp_path, files)) == []


def test_our_own_plain_pipeline_is_found() -> None:
    reports = check_paths((str(ROOT / "examples/sensors"),))
    assert ("plain.py", "HF814") in found(reports)
    assert {code for _, code in found(reports)} == {"HF814"}
