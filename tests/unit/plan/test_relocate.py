"""A copy of a checkpoint names its own place, also where operators with state name files."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from holdfast.evidence.collect import collect
from holdfast.evidence.outcomes import Refuses
from holdfast.evidence.overview import overview_of
from holdfast.plan.goals.relocate import relocate
from holdfast.storage.location import parse_location
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.open import open_reader

ARCHIVES = Path(__file__).parents[2] / "checkpoints"
PATH = "state/0/_metadata/v2/0"
SCHEMA = "/state/0/_stateSchema/default/0_da57"


def refusal(checkpoint: Path) -> str | None:
    start = overview_of(collect(open_reader(str(checkpoint)))).next_start
    return start.code if isinstance(start, Refuses) else None


@pytest.mark.parametrize("name", ["4.2-transform-with-state", "4.2-transform-format-2"])
def test_a_copy_is_not_refused_for_the_place_of_its_schemas(name: str, tmp_path: Path) -> None:
    with tarfile.open(ARCHIVES / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    here, copy = tmp_path / "checkpoint", tmp_path / "elsewhere/readings.g2"
    for path, content in relocate(open_reader(str(here)), parse_location(str(here))).items():
        (here / path).write_text(content)
        (here / path).with_name(f".{Path(path).name}.crc").unlink()
    assert refusal(here) is None
    shutil.copytree(here, copy)
    assert refusal(copy) == "HF412"
    moved = relocate(open_reader(str(here)), parse_location(str(copy)))
    assert list(moved) == [f"state/0/_metadata/v2/{batch}" for batch in range(3)]
    for path, content in moved.items():
        old, new = (
            json.loads(text.partition("\n")[2]) for text in ((here / path).read_text(), content)
        )
        (store,) = new["stateStoreInfo"]
        assert store.pop("stateSchemaFilePaths")[0].startswith(f"file:{copy}/state/0/_stateSchema/")
        old["stateStoreInfo"][0].pop("stateSchemaFilePaths")
        assert new == old
        (copy / path).write_text(content)
    assert refusal(copy) is None


@pytest.mark.parametrize(
    ("old", "target", "new"),
    [
        ("s3a://lake/cp", "s3://lake/other", "s3a://lake/other"),
        ("s3://lake/cp", "s3://other/cp", "s3://other/cp"),
        ("file:/srv/cp", "s3://lake/cp", "s3a://lake/cp"),
        ("hdfs://name/cp", "/srv/cp", "file:/srv/cp"),
    ],
)
def test_a_path_is_written_as_the_file_system_of_spark_has_it(
    old: str, target: str, new: str
) -> None:
    stores = [{"storeName": "default", "stateSchemaFilePaths": [f"{old}{SCHEMA}"]}]
    text = f"v2\n{json.dumps({'stateStoreInfo': stores})}"
    (found,) = relocate(MemoryStorage({PATH: text.encode()}), parse_location(target)).values()
    assert json.loads(found[3:])["stateStoreInfo"][0]["stateSchemaFilePaths"] == [f"{new}{SCHEMA}"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"v2",
        b"v2\n{",
        b"v2\n[]",
        b"v2\nnull",
        b'v2\n{"stateStoreInfo":[3]}',
        b'v2\n{"stateStoreInfo":[{"stateSchemaFilePaths":[4]}]}',
        b'v2\n{"stateStoreInfo":[{"stateSchemaFilePaths":["file:/elsewhere"]}]}',
        b'v2\n{"stateStoreInfo":[{"storeName":"default"}]}',
        b"v2\n\xff",
        b"v2\n" + b"[" * 100_000,
    ],
)
def test_what_is_damaged_or_names_no_schema_is_copied_as_it_is(content: bytes) -> None:
    assert relocate(MemoryStorage({PATH: content}), parse_location("/srv/cp")) == {}
