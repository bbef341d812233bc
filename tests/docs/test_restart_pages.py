"""The pages about a restart: every command on them works, and figures are those that were measured.

What can be found grows with every rule, so a command must answer, not answer something particular.
"""

from __future__ import annotations

import os
import pickle
import re
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path

import click
import pytest

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.main import holdfast
from holdfast.grades import Goal
from holdfast.judgement.fact import Fact
from holdfast.judgement.judge import Judgement, Verdict
from holdfast.record.documents import encode
from holdfast.record.generations import Generation
from holdfast.record.leases import Lease
from holdfast.record.owner import this_process
from holdfast.rules import RULES, Finding
from tests.house.repository import ROOT

DOCS = ROOT / "docs"
DECISION, CHECKLIST = DOCS / "guides/restart-decision.md", DOCS / "guides/before-and-after.md"
WHY_NOT = DOCS / "explanation/why-not-delete-it.md"
UNSEEN = DOCS / "explanation/what-holdfast-cannot-see.md"
PYTHON = DOCS / "reference/python.md"
BY_CAUSE = {("HF115", "backfill"), ("HF927", "backfill")}
"""A rule whose goal depends on what the error says."""
PAGES = (DECISION, CHECKLIST, WHY_NOT, UNSEEN)
ANSWERED = {ExitCode.DONE, ExitCode.FOUND, ExitCode.NOT_JUDGED}
PLANNED = {ExitCode.DONE, ExitCode.REFUSED}
COMMANDS = [
    pytest.param(command, id=f"{page.stem}: {command}")
    for page in PAGES
    for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
    for command in block.splitlines()
]
NAMED = [
    pytest.param(words.split(), id=f"{page.stem}: {words}")
    for page in PAGES
    for words in sorted(set(re.findall(r"`(holdfast [^`]+)`", page.read_text())))
]


def name_of(page: Path) -> str:
    return page.stem


def unpack(name: str, there: Path) -> Path:
    with tarfile.open(ROOT / f"tests/checkpoints/{name}.tar.xz") as archive:
        archive.extractall(there, filter="data")
    return there


@pytest.fixture(scope="module")
def srv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The place of the pages: a plain stream into files, a guarded one, a log and a program."""
    srv = tmp_path_factory.mktemp("srv")
    for name in ("checkpoints", "lake", "streams", "in", "jobs", "kept"):
        (srv / name).mkdir()
    plain = unpack("4.2-file-sink", srv / "plain")
    (plain / "checkpoint").rename(srv / "checkpoints/orders")
    (plain / "output").rename(srv / "lake/orders")
    (unpack("4.2-pending", srv / "guarded") / "checkpoint").rename(srv / "streams/readings")
    documents = (
        Lease(epoch=3, owner=this_process(), token="t", nonce="n", taken_at="", released=True),
        Generation(
            number=1,
            checkpoint=str(srv / "streams/readings"),
            query_id="86147e39-bda8-4ba1-a79b-5b6eaa588de4",
            first_batch=0,
            why="opened",
            opened_at="2026-11-16T10:00:00+00:00",
        ),
    )
    for document in documents:
        path = srv / "streams/_holdfast/readings" / document.path
        path.parent.mkdir(parents=True)
        path.write_bytes(encode(document))
    (srv / "driver.log").write_text("java.lang.OutOfMemoryError: Java heap space\n")
    (srv / "jobs/orders.py").write_text("print('no stream')\n")
    return srv


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_works(command: str, srv: Path) -> None:
    search = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-c", command.replace("/srv", str(srv))],
        env={**os.environ, "PATH": search},
        check=False,
        capture_output=True,
        text=True,
    )
    if command.startswith("holdfast diagnose"):
        assert ran.returncode in ANSWERED, ran.stderr
        said = {*verdicts_on_the_page(), "There is no checkpoint"}
        assert any(ran.stdout.startswith(line) for line in said), ran.stdout
    elif command.startswith("holdfast plan"):
        assert ran.returncode in PLANNED, ran.stderr
    else:
        assert ran.returncode == 0, ran.stderr
    assert not ran.stderr


def verdicts_on_the_page() -> list[str]:
    """Return the first lines that the guide to a diagnosis lists, certain and possible."""
    page = (DOCS / "guides/diagnose.md").read_text()
    certain = [line for line, _ in re.findall(r"^\| (.*?) \| `([a-z-]+)` \|$", page, re.MULTILINE)]
    return [*certain, "Restarting now may ", "It may not start"]


@pytest.mark.parametrize("words", NAMED)
def test_a_command_that_is_named_exists(words: list[str]) -> None:
    found: click.Command = holdfast
    with click.Context(holdfast) as context:
        while isinstance(found, click.Group):
            words = words[1:]
            command = found.get_command(context, words[0])
            assert command is not None, words[0]
            found = command
    options = {option for each in found.params for option in each.opts}
    assert {word for word in words if word.startswith("-")} <= options


def test_the_checklist_copies_everything(srv: Path) -> None:
    block = CHECKLIST.read_text().partition("### 5.")[2].partition("```sh\n")[2].partition("```")[0]
    script = block.replace("/srv/kept", str(srv / "kept/twice")).replace("/srv", str(srv))
    ran = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True)
    assert ran.stdout == "identical\n"


def test_the_query_of_the_checklist_counts_duplicates_and_gaps() -> None:
    (query,) = re.findall(r"```sql\n(.*?)```", CHECKLIST.read_text(), re.DOTALL)
    with closing(sqlite3.connect(":memory:")) as table:
        table.execute("CREATE TABLE orders (kafka_partition INTEGER, kafka_offset INTEGER)")
        rows = [(0, 5), (0, 6), (0, 6), (0, 9), (1, 1), (1, 2)]
        table.executemany("INSERT INTO orders VALUES (?, ?)", rows)
        assert sorted(table.execute(query)) == [(0, 1, 2), (1, 0, 0)]


def test_every_situation_has_one_of_the_goals() -> None:
    tables = DECISION.read_text().partition("## The query fails")[2]
    rows = [line.strip("| ").split(" | ") for line in tables.splitlines() if line.startswith("| ")]
    situations = [row for row in rows if row[0] not in {"---", "situation", "you want to"}]
    assert len(situations) >= 20
    for situation, spark_does, found, goal, todo in situations:
        assert goal in {each.value for each in Goal}, situation
        assert all((spark_does, todo)), situation
        assert re.search(r"HF[0-9]{3}", found), situation


def test_a_goal_is_that_of_its_rules() -> None:
    goals = {rule.code: rule.goal for rule in RULES}
    tables = DECISION.read_text().partition("## The query fails")[2]
    rows = [line.strip("| ").split(" | ") for line in tables.splitlines() if "HF" in line]
    different = {
        (code, row[3])
        for row in rows
        for code in re.findall(r"\[(HF[0-9]{3})\]", row[2])
        if code in goals and goals[code] is not Goal.NONE and goals[code] != row[3]
    }
    assert different == BY_CAUSE


def test_what_was_lost_is_what_was_measured() -> None:
    measured = (DOCS / "explanation/what-a-restart-does.md").read_text()
    table = [line for line in measured.splitlines() if line.count("|") == 7]
    text = WHY_NOT.read_text()
    figures = re.findall(r"\*\*([0-9,]+) of ([0-9,]+) (lost|duplicated)", text)
    assert len(figures) == 5
    for number, expected, effect in figures:
        shown = (
            f"| {expected} | {number} | 0 |"
            if effect == "lost"
            else f"| {expected} | 0 | {number} |"
        )
        assert any(shown in row for row in table), shown


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_is_in_plain_words(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
    assert not re.search(r"\b(nobody|somebody|whoever|mend|foreign)\b", text)


def test_the_example_of_a_diagnosis_runs(srv: Path) -> None:
    section = PYTHON.read_text().partition("## `holdfast.diagnose`")[2]
    example = section.partition("```python\n")[2].partition("```")[0]
    script = example.replace("/srv", str(srv))
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    first, *rest = ran.stdout.splitlines()
    assert first in {each.value for each in Verdict}
    assert "5 output mode append" in rest, "the log of its sink tells"
    assert any(line.startswith("9 restarts at least 1 start") for line in rest)


@pytest.mark.parametrize("value", [Judgement, Finding, Fact], ids=lambda value: value.__name__)
def test_an_attribute_on_the_page_is_there(value: type) -> None:
    section = PYTHON.read_text().partition(f"| attribute of `{value.__name__}` |")[2]
    rows = section.partition("\n\n")[0].splitlines()[2:]
    names = [name for row in rows for name in re.findall(r"`([a-z_]+)`", row.split("|")[1])]
    assert names
    assert set(names) <= set(dir(value))


def test_every_verdict_is_on_the_pages() -> None:
    section = PYTHON.read_text().partition("| attribute of `Judgement` |")[2]
    guide = (DOCS / "guides/diagnose.md").read_text()
    for verdict in Verdict:
        assert f"`{verdict}`" in section
        assert f"`{verdict}`" in guide


def test_a_diagnosis_can_be_pickled(srv: Path) -> None:
    script = (
        "import pickle, holdfast, sys; "
        f"found = holdfast.diagnose({str(srv / 'checkpoints/orders')!r}); "
        "sys.stdout.buffer.write(pickle.dumps(found))"
    )
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    assert isinstance(pickle.loads(ran.stdout), Judgement)
