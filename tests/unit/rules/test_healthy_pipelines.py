"""No false alarm in what Spark Declarative Pipelines leaves after runs that went well."""

from __future__ import annotations

import tarfile
from functools import cache

import pytest

from fixtures.pipelines import NAME, TARGET
from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.declarative import CHECKPOINTS, address_of, read_place, read_storage
from holdfast.evidence.overview import overview_of
from holdfast.grades import Severity
from holdfast.rules import Finding
from holdfast.storage.below import SubdirReader
from holdfast.storage.location import parse_location
from holdfast.storage.memory import MemoryStorage
from holdfast.testing.rule_cases import findings_in


@cache
def archive() -> MemoryStorage:
    files = {}
    with tarfile.open(TARGET / f"{NAME}.tar.xz") as packed:
        for member in packed:
            content = packed.extractfile(member)
            if content is not None:
                files[member.name] = content.read()
    return MemoryStorage(files)


def judge_flow(table: str, flow: str, generation: int, *, looks: bool) -> tuple[Finding, ...]:
    storage = SubdirReader(archive(), "storage")
    path = f"{CHECKPOINTS}/{table.replace('.', '/')}/{flow}/{generation}"
    address = address_of(parse_location(f"/{path}"))
    assert address is not None
    data = SubdirReader(archive(), f"tables/{table.rpartition('.')[2]}") if looks else None
    evidence = collect(SubdirReader(storage, path))
    return findings_in(
        Case(
            checkpoint=evidence.checkpoint,
            overview=overview_of(evidence),
            flow=read_place(storage, address, data),
        )
    )


def flows() -> list[tuple[str, str, int]]:
    return [
        (table.name, flow.name, generation.number)
        for table in read_storage(SubdirReader(archive(), "storage"))
        for flow in table.flows
        for generation in flow.generations
    ]


def test_every_flow_is_found() -> None:
    home = "spark_catalog.default"
    assert flows() == [
        (f"{home}.onwards", "onwards", 0),
        (f"{home}.refreshed", "refreshed", 0),
        (f"{home}.refreshed", "refreshed", 1),
        (f"{home}.single", "single", 0),
    ]


@pytest.mark.parametrize("looks", [False, True])
@pytest.mark.parametrize("flow", flows())
def test_nothing_above_a_note_is_found(flow: tuple[str, str, int], *, looks: bool) -> None:
    found = judge_flow(*flow, looks=looks)
    assert [each for each in found if each.severity is not Severity.NOTE] == []


def test_an_older_generation_is_noted() -> None:
    old = judge_flow("spark_catalog.default.refreshed", "refreshed", 0, looks=True)
    assert "HF905" in [each.code for each in old]
