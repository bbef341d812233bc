"""Where a stream is: finding it writes nothing, and what is missing is created later."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.read import read_checkpoint
from holdfast.evidence.collect import with_metadata
from holdfast.record.documents import RecordError
from holdfast.record.generations import open_generation
from holdfast.record.neighbours import NeighbourError
from holdfast.streams.place import Place, SharedCheckpointError, find_place
from tests.stand_ins import stand_in
from tests.unit.record.hostile.site import QUERY, Site, StubSpark, make_site


def find(root: Path, stream: str = "readings", checkpoint: Path | None = None) -> Place:
    given = None if checkpoint is None else str(checkpoint)
    return find_place(stand_in(StubSpark()), stream, str(root), checkpoint=given)


def files_in(directory: Path) -> list[str]:
    return sorted(str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file())


def query_id_in(place: Place) -> str:
    found = with_metadata(read_checkpoint(place.checkpoint), place.generation)
    metadata = found.metadata
    assert isinstance(metadata, QueryMetadata)
    return metadata.query_id


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "streams"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_site(tmp_path)


def test_finding_a_place_writes_nothing(root: Path) -> None:
    place = find(root)
    assert not root.exists()
    assert not place.is_written_down
    assert query_id_in(place) == place.generation.query_id
    assert not root.exists()


def test_what_is_missing_is_created_once_the_rules_have_passed(root: Path) -> None:
    place = find(root)
    place.write_down()
    assert files_in(root) == ["_holdfast/readings/generations/0001.json", "readings/metadata"]
    again = find(root)
    assert again.is_written_down
    assert query_id_in(again) == place.generation.query_id
    again.write_down()
    assert len(files_in(root)) == 2


def test_a_kill_before_metadata_is_made_good_by_the_next_start(root: Path) -> None:
    first = find(root)
    open_generation(first.record, first.generation)
    second = find(root)
    assert query_id_in(second) == first.generation.query_id
    second.write_down()
    written = json.loads((root / "readings/metadata").read_text())
    assert written == {"id": first.generation.query_id}


def test_of_two_first_starts_the_second_goes_on_with_what_the_first_has_opened(root: Path) -> None:
    winner, loser = find(root), find(root)
    assert winner.generation.query_id != loser.generation.query_id
    winner.write_down()
    refreshed = loser.refreshed()
    assert refreshed.generation == winner.generation
    refreshed.write_down()
    with pytest.raises(SharedCheckpointError) as refused:
        loser.write_down()
    assert refused.value.how == "Start it again."


def test_a_first_start_that_an_adoption_has_overtaken_starts_again(root: Path) -> None:
    old = root.parent / "old"
    old.mkdir()
    (old / "metadata").write_text(json.dumps({"id": QUERY}))
    late = find(root)
    find(root, checkpoint=old).write_down()
    with pytest.raises(SharedCheckpointError) as refused:
        late.refreshed()
    assert refused.value.how == "Start it again."
    assert not (root / "readings").exists()


def test_a_query_id_that_is_there_already_is_kept(root: Path) -> None:
    (root / "readings").mkdir(parents=True)
    (root / "readings/metadata").write_text(json.dumps({"id": QUERY}))
    assert find(root).generation.query_id == QUERY


def test_a_root_by_another_spelling_is_the_same_root(site: Site) -> None:
    (site.around / "alias").symlink_to(site.root)
    place = find(site.around / "alias")
    assert place.generation.checkpoint == str(site.checkpoint)


def test_a_root_that_was_moved_is_taken_over_once(site: Site) -> None:
    moved = site.around / "moved"
    site.root.rename(moved)
    with pytest.raises(RecordError) as refused:
        find(moved)
    assert not site.root.exists()
    subprocess.run(["sh", "-c", refused.value.repair], check=True, timeout=10)
    assert find(moved, checkpoint=moved / "readings").generation.query_id == QUERY


def test_an_adopted_checkpoint_is_found_and_nothing_is_created_there(site: Site) -> None:
    old = site.around / "old"
    site.checkpoint.rename(old)
    changes = {"checkpoint": str(old), "why": "adopted"}
    site.write("generations/0001.json", site.generation(**changes))
    find(site.root).write_down()
    (old / "metadata").unlink()
    with pytest.raises(RecordError, match="the query id there is none"):
        find(site.root)
    assert not (old / "metadata").exists()
    (old / "metadata").write_text(json.dumps({"id": "77aa77aa-0000-4000-8000-000000000000"}))
    with pytest.raises(RecordError, match="77aa77aa"):
        find(site.root)


def test_a_broken_record_of_another_stream_stops_no_new_stream_at_a_free_place(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.write("generations/0001.json", "{")
    assert not find(site.root, "fresh").is_written_down
    assert "another stream, readings, cannot be used" in caplog.text


def test_a_broken_record_of_another_stream_stops_an_adoption_until_it_is_repaired(
    site: Site,
) -> None:
    site.write("generations/0001.json", "{")
    old = site.around / "old"
    old.mkdir()
    (old / "metadata").write_text(json.dumps({"id": QUERY}))
    with pytest.raises(NeighbourError) as refused:
        find(site.root, "fresh", old)
    error = refused.value
    assert (error.code, error.stream) == ("NEIGHBOUR_RECORD", "readings")
    assert error.repair in str(error)
    subprocess.run(["sh", "-c", error.repair], check=True, timeout=10)
    assert (site.record / "removed/0001.json").read_text() == "{"
    assert find(site.root, "fresh", old).generation.why == "adopted"
    assert find(site.root, checkpoint=site.checkpoint).generation.query_id == QUERY


def test_a_directory_that_no_stream_can_be_called_is_not_a_record(site: Site) -> None:
    forged = site.root / "_holdfast" / "Evil\x1b[31m/generations"
    forged.mkdir(parents=True)
    (forged / "0001.json").write_text("{")
    assert not find(site.root, "fresh").is_written_down
