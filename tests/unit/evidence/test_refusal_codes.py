"""Codes of predicted refusals: every one is given for some damage, and explained on its page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.evidence import Query, Refuses
from holdfast.evidence.collect import collect
from holdfast.evidence.next_start import predict_next_start
from holdfast.evidence.refusal_codes import RefusalCode
from holdfast.rules import RULES
from holdfast.storage.location import parse_location
from holdfast.storage.open import open_reader
from tests.house.repository import ROOT, python_files
from tests.unit.evidence.damaged import (
    Damage,
    damaged,
    empty,
    every,
    halve,
    on_line,
    read,
    remove,
    rewrite,
    swap,
    write,
)

COUNTS, FORMAT_2 = "4.2-aggregation", "4.2-aggregation-format-2"
SCHEMA = "state/0/0/_metadata/schema"
PARTITIONS = '"spark.sql.shuffle.partitions":"2"'
PENDING = remove("commits/5")
PAGE = (ROOT / "docs/reference/refusals.md").read_text()

DAMAGES: dict[str, tuple[str, Damage]] = {
    "HF101": (COUNTS, rewrite("metadata", halve)),
    "HF102": (COUNTS, remove("metadata")),
    "HF103": (COUNTS, remove("offsets", "commits")),
    "HF201": (COUNTS, remove("offsets")),
    "HF202": (COUNTS, rewrite("offsets/5", empty)),
    "HF203": (COUNTS, remove("offsets/4")),
    "HF204": (COUNTS, rewrite("offsets/5", lambda raw: raw + b"\n-")),
    "HF205": (COUNTS, rewrite("offsets/5", on_line(1, ""))),
    "HF206": (COUNTS, write("offsets/.6.crc", b"crc\0")),
    "HF228": (COUNTS, write("offsets/0006", b"")),
    "HF311": (COUNTS, remove("sources/0/4")),
    "HF312": (COUNTS, rewrite("sources/0/4", halve)),
    "HF313": (COUNTS, write("sources/0/.5.crc", b"crc\0")),
    "HF411": (COUNTS, rewrite(SCHEMA, empty)),
    "HF413": (COUNTS, remove(SCHEMA, sidecars=False)),
    "HF414": (FORMAT_2, remove("state")),
    "HF415": ("4.2-two-operators", remove("state/0")),
    "HF416": (FORMAT_2, rewrite("commits/5", lambda _: b"v1\n{}")),
    "HF417": (FORMAT_2, remove("commits/[45]")),
    "HF418": (COUNTS, every(remove("state/0/?/6.snapshot"), rewrite("state/0/0/6.delta", empty))),
    "HF419": (COUNTS, remove("state/0/0/6.delta", "state/0/0/6.snapshot")),
    "HF501": (COUNTS, every(PENDING, rewrite("offsets/5", swap(PARTITIONS + ",", "")))),
    "HF502": (
        COUNTS,
        every(PENDING, rewrite("offsets/5", swap(PARTITIONS, PARTITIONS.replace("2", "1")))),
    ),
}
OTHERWISE = ["HF104", "HF105", "HF401", "HF412"]
"""Those that follow from a version, a query or a place, not from damage."""


@pytest.mark.parametrize("code", DAMAGES)
def test_a_damage_has_its_code(code: str) -> None:
    archive, damage = DAMAGES[code]
    spark = (4, 2, 0) if code == "HF501" else (4, 2)  # corrected in 4.2.1
    predicted = predict_next_start(read(archive, damage), spark=spark)
    assert isinstance(predicted, Refuses)
    assert predicted.code == code


def test_a_version_that_cannot_read_it_has_its_code() -> None:
    predicted = collect(damaged(FORMAT_2)).next_start((3, 5))
    assert isinstance(predicted, Refuses)
    assert predicted.code is RefusalCode.VERSION_NOT_READABLE


def test_a_changed_query_has_the_code_of_its_rule() -> None:
    predicted = predict_next_start(read(COUNTS), query=Query(sources=2, operators=()))
    assert isinstance(predicted, Refuses)
    assert predicted.code is RefusalCode.QUERY_CHANGED


def test_a_moved_checkpoint_has_its_code() -> None:
    here = read("4.2-transform-with-state")
    predicted = predict_next_start(replace(here, location=parse_location("/elsewhere")))
    assert isinstance(predicted, Refuses)
    assert predicted.code is RefusalCode.STATE_SCHEMA_ELSEWHERE


def test_a_location_that_is_a_file_has_its_code(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint"
    file.write_text("notes")
    predicted = collect(open_reader(str(file))).next_start()
    assert isinstance(predicted, Refuses)
    assert predicted.code is RefusalCode.LOCATION_IS_A_FILE


def test_every_code_is_given_by_a_test_and_named_in_the_package() -> None:
    assert sorted([*DAMAGES, *OTHERWISE]) == [code.value for code in RefusalCode]
    source = "".join(path.read_text() for path in python_files("src/holdfast/evidence"))
    used = set(re.findall(r"RefusalCode\.([A-Z_]+)", source))
    assert used == {code.name for code in RefusalCode}


def test_every_code_is_on_its_page_and_no_other() -> None:
    shown = re.findall(r"^\| (?:\[)?(HF\d{3})(?:\]\([^)]*\))? ([a-z-]+) \|", PAGE, re.MULTILINE)
    assert [" ".join(each) for each in shown] == [code.display_name for code in RefusalCode]


def test_every_code_is_a_rule_of_the_same_name() -> None:
    named = {rule.code: f"{rule.code} {rule.name}" for rule in RULES}
    assert [named.get(code) for code in RefusalCode] == [code.display_name for code in RefusalCode]
