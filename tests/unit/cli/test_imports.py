"""What each command imports: nobody should wait for modules that a command does not use.

Seconds depend on the machine, so the modules are compared instead. `python -m benchmarks.cli_start`
measures the time.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
from importlib import import_module
from pathlib import Path

import pytest

from holdfast.cli.exit_codes import CODES
from holdfast.cli.main import VERBS
from holdfast.errors import HoldfastError
from holdfast.rules.rule import Needs

CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"
FOLDERS = tuple(f"holdfast.rules.{each}." for each in Needs)
TOOLS = (
    "boto3",
    "confluent_kafka",
    "deltalake",
    "jinja2",
    "mcp",
    "numpy",
    "obstore",
    "psycopg",
    "pyarrow",
    "pyspark",
    "rich",
)
"""Packages that cost 20 ms and more, and that no command needs before it has work for them."""
HEAVY = ("holdfast.apply", "holdfast.drills", "holdfast.plan", "holdfast.proof", "holdfast.streams")
SINKS_AND_PROBES = (
    "holdfast.evidence.neighbours",
    "holdfast.evidence.query_to_start",
    "holdfast.evidence.spark_error",
    "importlib.metadata",
    "holdfast.judgement.ledgers",
    "holdfast.judgement.outputs",
    "holdfast.judgement.probing",
    "holdfast.sources.kafka.client",
    "holdfast.sinks",
)
RUN = "from holdfast.cli.main import run_command; import sys; run_command(sys.argv[1:])"
LIST = "\nimport sys; print('MODULES', *sys.modules)"


def modules_after(program: str, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", program + LIST, *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return set(done.stdout.splitlines()[-1].split()[1:])


def loaded(modules: set[str], *roots: str) -> set[str]:
    return {each for each in modules for root in roots if f"{each}.".startswith(f"{root}.")}


def rules_in(modules: set[str]) -> set[str]:
    return {each for each in modules if each.startswith(FOLDERS)}


def families_in(modules: set[str]) -> set[str]:
    return {each.split(".")[2] for each in rules_in(modules)}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    target = tmp_path_factory.mktemp("recorded")
    with tarfile.open(CHECKPOINTS / "4.2-aggregation-pending.tar.xz") as archive:
        archive.extractall(target, filter="data")
    return str(target / "checkpoint")


def test_inspect_imports_the_rules_of_the_checkpoint_and_neither_facts_nor_probes(
    checkpoint: str,
) -> None:
    modules = modules_after(RUN, "inspect", checkpoint)
    assert "holdfast.cli.inspect" in modules
    assert families_in(modules) == {"checkpoint"}
    unused = (
        *SINKS_AND_PROBES,
        "configparser",
        "holdfast.bundle.unpack",
        "holdfast.evidence.declarative",
        "holdfast.judgement.case",
        "holdfast.judgement.facts",
        "zipfile",
    )
    assert loaded(modules, *unused, *HEAVY, *TOOLS) == set()


def test_inspect_imports_the_probes_when_they_are_asked_for(checkpoint: str) -> None:
    modules = modules_after(RUN, "inspect", checkpoint, "--probe")
    assert "holdfast.judgement.probing" in modules
    assert families_in(modules) == {"checkpoint", "source"}


def test_diagnose_imports_the_rules_of_a_bare_checkpoint_and_no_sink_or_probe(
    checkpoint: str,
) -> None:
    modules = modules_after(RUN, "diagnose", checkpoint)
    assert families_in(modules) == {"checkpoint"}
    assert loaded(modules, *SINKS_AND_PROBES, *HEAVY, *TOOLS) == set()


def test_state_is_read_without_the_rules_and_small_files_without_pyarrow(checkpoint: str) -> None:
    modules = modules_after(RUN, "state", checkpoint, "--key", "k0")
    assert "holdfast.cli.state" in modules
    assert rules_in(modules) == set()
    unused = ("holdfast.judgement", "holdfast.sinks", "holdfast.cli.state_json", "zipfile")
    assert loaded(modules, *unused, *HEAVY, *TOOLS) == set()


def test_facts_are_found_without_the_rules(checkpoint: str) -> None:
    modules = modules_after(RUN, "facts", checkpoint)
    assert "holdfast.judgement.facts" in modules
    assert rules_in(modules) == set()


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_a_command_imports_no_rule_before_it_judges(verb: str) -> None:
    modules = modules_after(RUN, verb, "--help")
    assert f"holdfast.cli.{verb}" in modules
    assert rules_in(modules) == set()
    assert loaded(modules, *TOOLS) == set()


def test_help_imports_no_verb() -> None:
    modules = modules_after(RUN, "--help")
    assert {each for each in VERBS if f"holdfast.cli.{each}" in modules} == set()
    assert loaded(modules, "holdfast.record", "holdfast.checkpoint", *HEAVY) == set()


@pytest.mark.parametrize("name", CODES)
def test_each_exit_code_is_that_of_an_error_which_exists(name: str) -> None:
    module, _, kind = name.rpartition(".")
    assert issubclass(getattr(import_module(module), kind), HoldfastError)
