"""What the documentation says is true: code runs, tables and commands are the real ones."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from pathlib import Path

import msgspec
import pytest

from campaigns.restart_damage.scenarios import SCENARIOS
from holdfast.cli.exit_codes import ExitCode
from holdfast.record.acceptances import Acceptance
from holdfast.record.batches import JournalledBatch, rows_path
from holdfast.record.contracts import Contract
from holdfast.record.documents import Document, encode
from holdfast.record.generations import Generation
from holdfast.record.layout import (
    KINDS,
    acceptance_path,
    batch_path,
    contract_path,
    journal_path,
)
from holdfast.record.leases import Lease
from holdfast.record.repairs import RepairBegun, RepairEnded
from holdfast.record.runs import Run
from tests.house.repository import ROOT

README = (ROOT / "README.md").read_text()
DAMAGE = (ROOT / "docs/explanation/what-a-restart-does.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
PAGES += sorted(ROOT.glob("examples/*/README.md"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def damage_rows(text: str) -> list[list[str]]:
    """Return the cells of the rows of a damage table."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [cells for cells in lines if cells[0] in {scenario.written for scenario in SCENARIOS}]


def test_the_damage_table_has_a_row_for_every_scenario_in_the_same_order() -> None:
    shown = [(written, happens) for written, happens, *_ in damage_rows(DAMAGE)]
    assert shown == [(scenario.written, scenario.happens) for scenario in SCENARIOS]


def test_the_damage_in_the_readme_is_that_of_the_page() -> None:
    measured = {
        (written, happens): [lost, duplicated, re.split("[,:]", guarded)[0]]
        for written, happens, _, lost, duplicated, guarded in damage_rows(DAMAGE)
    }
    shown = damage_rows(README)
    assert len(shown) in {4, 5}
    for written, happens, *rest in shown:
        assert measured[written, happens] == rest


OF_REPOSITORY = re.compile(r"python -m (?:campaigns|lab|benchmarks)\b")
FOR_USERS = [page for page in PAGES if "contributing" not in page.parts]


@pytest.mark.parametrize("page", FOR_USERS, ids=name_of)
def test_a_command_of_the_repository_is_said_to_be_one(page: Path) -> None:
    """Who ran pip install has no campaigns, no lab and no benchmarks."""
    text = page.read_text()
    first = OF_REPOSITORY.search(text)
    if first is None:
        return
    paragraph = text[first.end() :].partition("\n\n")[0]
    assert re.search(r"checkout|in the repository", text[: first.end()] + paragraph), first[0]


def test_the_readme_explains_a_code_before_it_names_another() -> None:
    first = README.index("HF")
    sentence = README[:first].rpartition(". ")[2] + README[first:].partition(". ")[0]
    assert "a rule with a code and a page" in sentence


STEPS = {
    "on every stage": "every stage",
    "on the first stage only": "first stage only",
    "without clearing the output": "every stage, without step 2",
    "with 50 records expired": "every stage, 50 records expired",
    "the old driver is in a batch": "every stage, the old driver is in a batch",
}
WRITTEN = ("Delta's own sink", "Delta, fixed txnAppId", "JDBC append")
FAULTS = ("lost", "duplicated", "wrong")


def test_the_five_steps_in_the_readme_are_those_of_the_page() -> None:
    page = (ROOT / "docs/explanation/the-five-steps.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    measured = {(row[0], row[1]): row[2:5] for row in rows if len(row) == 6}
    lines = [line.strip("| ").split(" | ") for line in README.splitlines() if line.startswith("| ")]
    shown = [row for row in lines if row[0] in STEPS]
    assert [row[0] for row in shown] == list(STEPS)
    for step, *cells in shown:
        for written, cell in zip(WRITTEN, cells, strict=False):
            figures = zip(measured[written, STEPS[step]], FAULTS, strict=True)
            said = ", ".join(f"{count} {what}" for count, what in figures if count != "0")
            assert cell == (said or "exact"), (step, written)


def test_the_figures_in_the_readme_are_those_of_their_page() -> None:
    figures = re.findall(r"\*\*(.*?)\*\*", README.partition("## Figures")[2].partition("## ")[0])
    measured = re.findall(r"\*\*(.*?)\*\*", (ROOT / "docs/reference/measurements.md").read_text())
    assert len(figures) >= 6
    assert sorted(figures) == sorted(measured)


def test_the_program_in_the_readme_is_that_of_the_tutorial() -> None:
    tutorial = (ROOT / "docs/tutorials/first-exactly-once-stream.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert program in tutorial


def test_the_readme_can_be_read_in_a_minute() -> None:
    assert len(README.splitlines()) <= 146


def test_every_exit_code_is_on_its_page_and_no_other() -> None:
    page = (ROOT / "docs/reference/exit-codes.md").read_text()
    shown = [int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)]
    assert shown == [code.value for code in ExitCode]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_make_command_and_module_that_is_named_exists(page: Path) -> None:
    text = page.read_text()
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for target in re.findall(r"`make ([a-z]+)", text):
        assert target in targets, target
    for module in re.findall(r"python -m ((?:lab|examples|benchmarks|campaigns)[a-z_.]*)", text):
        path = ROOT.joinpath(*module.split("."))
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module


def test_the_example_of_a_prediction_runs() -> None:
    page = (ROOT / "docs/explanation/how-spark-restarts.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    subprocess.run([sys.executable, "-c", block], check=True)


@pytest.fixture
def fixture_checkpoints(tmp_path: Path) -> Path:
    """A directory in which the checkpoints that pages name are unpacked."""
    for name in ("4.2-aggregation", "4.2-kafka", "4.2-killed-commits", "4.2-transform-with-state"):
        with tarfile.open(ROOT / f"tests/checkpoints/{name}.tar.xz") as archive:
            archive.extractall(tmp_path / "tests/checkpoints" / name, filter="data")
    return tmp_path


def without_age(text: str) -> str:
    """Return a text without how long ago something was, which also changes a column's width."""
    text = re.sub(r"(, )?[0-9,]+ (?:d|h|min|s)(?: [0-9]+ (?:h|min))?( ago)?(?=\s)", "", text)
    return re.sub(r" +", " ", text)


@pytest.mark.parametrize("guide", ["inspect", "state"])
def test_the_commands_of_a_guide_print_what_it_shows(fixture_checkpoints: Path, guide: str) -> None:
    page = (ROOT / f"docs/guides/{guide}.md").read_text()
    blocks = re.findall(r"```console\n\$ (.*?)\n(.*?)```", page, re.DOTALL)
    assert blocks
    for command, shown in blocks:
        words = [str(Path(sys.executable).with_name("holdfast")), *command.split()[1:]]
        ran = subprocess.run(
            words, check=True, capture_output=True, text=True, cwd=fixture_checkpoints
        )
        said = ran.stdout.replace(f"{fixture_checkpoints}/", "")
        assert without_age(said) == without_age(shown)


def test_the_python_of_the_inspect_page_runs(fixture_checkpoints: Path) -> None:
    page = (ROOT / "docs/guides/inspect.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    command = [sys.executable, "-c", block]
    ran = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=fixture_checkpoints
    )
    assert ran.stdout.startswith("RunsAgain(batch_id=2, follows_from=('offsets/2', 'commits/1')")
    assert ran.stdout.endswith("\n(0, 1)\n")


def test_every_file_of_a_checkpoint_is_on_the_page_of_formats() -> None:
    page = (ROOT / "docs/reference/checkpoint-formats.md").read_text()
    for module in re.findall(r"`(checkpoint/[a-z_/]+\.py)`", page):
        assert (ROOT / "src/holdfast" / module).exists(), module


def test_the_examples_of_the_record_are_what_is_written_there() -> None:
    page = (ROOT / "docs/reference/record.md").read_text()
    examples = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    kinds = (
        Generation,
        Lease,
        Contract,
        Run,
        Acceptance,
        JournalledBatch,
        RepairBegun,
        RepairEnded,
    )
    read: list[Document] = []
    for example, kind in zip(examples, kinds, strict=True):
        read.append(msgspec.json.decode(example, type=kind))
        assert encode(read[-1]).decode() == example
    _, _, contract, run, acceptance, batch, begun, ended = read
    assert isinstance(contract, Contract)
    assert isinstance(run, Run)
    assert isinstance(acceptance, Acceptance)
    assert isinstance(batch, JournalledBatch)
    assert isinstance(begun, RepairBegun)
    assert isinstance(ended, RepairEnded)
    assert f"| `{begun.path}`, `{ended.path}` |" in page
    assert begun.journal.endswith(journal_path(begun.id))
    assert run.contract == contract.digest
    paths = (contract_path(contract.digest), acceptance_path(acceptance.number, acceptance.code))
    for path in paths:
        assert f"| `{path}` |" in page
    named = batch_path(batch.generation, batch.batch, f"d{batch.digest[:16]}")
    assert f"| `{named}.json`, `{batch.rows}/…` |" in page
    assert batch.rows == rows_path(batch.generation, batch.batch, epoch=8)


def test_every_kind_of_file_in_the_record_is_on_its_page() -> None:
    page = (ROOT / "docs/reference/record.md").read_text()
    listed = page.partition("## A generation")[0]
    assert sorted(re.findall(r"^\| `([a-z]+)/", listed, re.MULTILINE)) == sorted(KINDS)
