"""A sample of `python -m tests.fuzz`: damaged files are values, hostile ones do no harm."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import pytest

from tests.fuzz.damages import Damage, random_damage, random_flip, shortenings
from tests.fuzz.hostile.case import Hostile
from tests.fuzz.hostile.cases import CASES
from tests.fuzz.hostile.judge import try_hostile
from tests.fuzz.parsers import ALL, Parser
from tests.fuzz.processes import try_process
from tests.fuzz.runs import choose_runs, try_inspect
from tests.fuzz.specimens import Specimen, distinct_files
from tests.fuzz.trials import Failure, try_parser

FILES_OF_A_KIND = 10
DAMAGES_OF_A_FILE = 16
RUNS = 40
QUICK = [case for case in CASES.values() if not case.heavy]
WRITTEN = [parser for parser in ALL if parser.kind != "rate's beginning"]
"""Kinds of file that the archives hold."""


def of_kind(parser: Parser) -> list[Specimen]:
    return [each for each in distinct_files() if each.parser == parser and each.raw]


def some_damages(specimen: Specimen, chance: random.Random) -> list[Damage]:
    cuts = list(shortenings(specimen.raw))
    flips = [random_flip(specimen.raw, chance) for _ in range(DAMAGES_OF_A_FILE // 2)]
    return [Damage("empty"), *chance.sample(cuts, min(len(cuts), DAMAGES_OF_A_FILE // 2)), *flips]


@pytest.mark.parametrize("parser", WRITTEN, ids=lambda parser: parser.kind)
def test_a_damaged_file_is_a_value(parser: Parser, seed: int) -> None:
    chance = random.Random(seed)
    specimens = of_kind(parser)
    assert specimens
    failures = [
        failure
        for specimen in chance.sample(specimens, min(len(specimens), FILES_OF_A_KIND))
        for damage in some_damages(specimen, chance)
        if (failure := try_parser(specimen, damage)) is not None
    ]
    assert failures == []


@pytest.mark.parametrize("parser", WRITTEN, ids=lambda parser: parser.kind)
def test_a_file_as_spark_wrote_it_is_a_value_too(parser: Parser) -> None:
    whole = [try_parser(each, Damage("cut", len(each.raw))) for each in of_kind(parser)[:20]]
    assert [failure for failure in whole if failure is not None] == []


def test_a_damaged_checkpoint_is_inspected_and_the_file_is_named_or_understood(seed: int) -> None:
    told = defaultdict(list)
    for case in choose_runs(RUNS, seed):
        found = try_inspect(case)
        told["failed" if isinstance(found, Failure) else found].append(found)
    assert told["failed"] == []
    assert len(told["named"]) > RUNS // 4


def test_the_command_ends_with_a_code_that_is_documented(seed: int, tmp_path: Path) -> None:
    (case,) = choose_runs(1, seed)
    assert try_process(case, tmp_path) is None


@pytest.mark.parametrize("case", QUICK, ids=lambda case: case.name)
def test_a_hostile_checkpoint_does_no_harm(case: Hostile, tmp_path: Path) -> None:
    assert try_hostile(case, tmp_path) is None


def test_there_are_more_than_fifty_of_them() -> None:
    assert len(QUICK) > 50


def test_damage_can_be_repeated_by_its_seed() -> None:
    first, second = ([random_damage(b"abc" * 100, random.Random(7))] for _ in range(2))
    assert first == second
    runs = ([case.name for case in choose_runs(10, 7)] for _ in range(2))
    assert next(runs) == next(runs)
