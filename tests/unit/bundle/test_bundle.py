"""A bundle has what is needed and no more; it is read like the checkpoint that it was made of."""

from __future__ import annotations

import io
import json
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.bundle.manifest import MANIFEST, decode
from holdfast.bundle.open import open_checkpoint
from holdfast.bundle.pack import left_out, pack
from holdfast.bundle.unpack import BadBundle, Bundle, BundleError, read_bundle
from holdfast.cli.main import run
from holdfast.errors import ConfigError, ReadError
from holdfast.evidence import collect as collecting
from holdfast.storage.local import LocalReader
from holdfast.storage.location import parse_location
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.read import Listing, WalkPage
from tests.house.repository import ROOT

ENTRY = b'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}\n5'
FILES = {
    "metadata": b'{"id":"6f0c0000-0000-4000-8000-000000000000"}',
    "offsets/0": ENTRY,
    "offsets/1": ENTRY,
    "commits/0": b"v1\n{}",
    "state/0/0/1.delta": b"rows",
    "notes.txt": b"mine",
}
FIXTURES = sorted((ROOT / "tests/checkpoints").glob("4.2-*.tar.xz"))

UNKNOWN = {"4.2-join-format-2.tar.xz"}
"""State format 2 before its first snapshot: what a start needs is inside the changelogs."""


def run_verb(*words: str) -> int:
    with pytest.raises(SystemExit) as left:
        run(list(words))
    assert isinstance(left.value.code, int)
    return left.value.code


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    home = tmp_path / "readings"
    for path, raw in FILES.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(raw)
    return home


def test_it_has_the_small_files_and_says_what_it_left_out() -> None:
    packed = pack(MemoryStorage(FILES), None, {"facts.json": {"a": 1}})
    bundle = read_bundle(io.BytesIO(packed.data))
    assert isinstance(bundle, Bundle)
    assert set(bundle.members) == {
        *(f"checkpoint/{path}" for path in ("metadata", "offsets/0", "offsets/1", "commits/0")),
        "facts.json",
    }
    assert dict(left_out(bundle.manifest)) == {
        "it holds the data of the state": 1,
        "Spark does not write this file here": 1,
    }
    assert bundle.digest == packed.digest
    assert b"rows" not in packed.data


def test_the_same_files_give_the_same_bytes() -> None:
    one = pack(MemoryStorage(FILES), None, {})
    other = pack(MemoryStorage(dict(reversed(FILES.items()))), None, {})
    assert one.data == other.data


def test_a_large_file_and_what_does_not_fit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.bundle.pack.LARGEST_FILE", 50)
    files = {"metadata": b"{}", "sources/0/9.compact": b"v1" * 50}
    reasons = dict(left_out(pack(MemoryStorage(files), None, {}).manifest))
    assert list(reasons.values()) == [1]
    monkeypatch.setattr("holdfast.bundle.pack.LARGEST_BUNDLE", 4)
    kept = pack(
        MemoryStorage({"metadata": b"{}", "offsets/1": b"v1\n", "offsets/9": b"v"}), None, {}
    )
    assert [each.path for each in kept.manifest.members] == [
        "checkpoint/metadata",
        "checkpoint/offsets/9",
    ]


def test_nothing_there_is_refused() -> None:
    with pytest.raises(ConfigError):
        pack(MemoryStorage({}), None, {})


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.stem)
def test_it_is_inspected_like_the_checkpoint(
    fixture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tarfile.open(fixture) as archive:
        archive.extractall(tmp_path, filter="data")
    home, bundle = str(tmp_path / "checkpoint"), str(tmp_path / "case.zip")
    assert run_verb("evidence", home, "-o", bundle) == 0
    capsys.readouterr()
    code = run_verb("inspect", home, "--format", "json")
    there = json.loads(capsys.readouterr().out)
    in_bundle = run_verb("inspect", bundle, "--format", "json")
    found = json.loads(capsys.readouterr().out)
    if fixture.name in UNKNOWN:
        assert found["next_start"]["kind"] == "unknown"
    else:
        assert (found, in_bundle) == (there, code)


def test_it_is_diagnosed_like_the_checkpoint_whose_state_is_not_read(
    checkpoint: Path,
    tmp_path: Path,
    *,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(collecting, "LARGEST_LOOKED_INTO", 0)
    (tmp_path / "log").write_text("[INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION] x")
    bundle = str(tmp_path / "case.zip")
    assert run_verb("evidence", str(checkpoint), "-o", bundle) == 0
    capsys.readouterr()
    answers = []
    for place in (str(checkpoint), bundle):
        words = ("diagnose", place, "--format", "json", "--error", str(tmp_path / "log"))
        code = run_verb(*words)
        found = json.loads(capsys.readouterr().out)
        answers.append((code, [each["code"] for each in found["findings"]], found["verdict"]))
    assert answers[0] == answers[1]
    assert answers[0][1]


def without_etags(page: Listing | WalkPage) -> Listing | WalkPage:
    return replace(page, files=tuple(replace(each, etag=None) for each in page.files))


def test_what_was_left_out_is_listed_and_cannot_be_read(checkpoint: Path, tmp_path: Path) -> None:
    assert run_verb("evidence", str(checkpoint), "-o", str(tmp_path / "case.zip")) == 0
    opened = open_checkpoint(str(tmp_path / "case.zip"))
    reader, there = opened.checkpoint, LocalReader(parse_location(str(checkpoint)))
    assert reader.location == there.location
    for directory in ("", "offsets", "state", "state/0/0", "nowhere"):
        assert without_etags(reader.list(directory)) == without_etags(there.list(directory))
        pages = [each.list_after(directory, "0") for each in (reader, there)]
        assert without_etags(pages[0]) == without_etags(pages[1])
        walked = [each.walk_page(directory) for each in (reader, there)]
        assert without_etags(walked[0]) == without_etags(walked[1])
    listed = there.stat("state/0/0/1.delta")
    assert listed is not None
    assert reader.stat("state/0/0/1.delta") == replace(listed, etag=None)
    assert reader.read("offsets/1", start=1, length=2) == ENTRY[1:3]
    assert reader.read("offsets/7") is None
    assert reader.stat("offsets/") is None
    with pytest.raises(ReadError, match="left out of the bundle"):
        reader.read("state/0/0/1.delta")


def test_an_existing_file_is_replaced_only_when_asked(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "case.zip"
    target.write_text("mine")
    assert run_verb("evidence", str(checkpoint), "-o", str(target)) == 2
    assert target.read_text() == "mine"
    assert run_verb("evidence", str(checkpoint), "-o", str(target), "--force") == 0
    assert "seal          sha256:" in capsys.readouterr().out
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_it_is_never_written_into_the_checkpoint_or_nowhere(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_verb("evidence", str(checkpoint), "-o", str(checkpoint / "case.zip")) == 2
    assert run_verb("evidence", str(checkpoint), "-o", str(tmp_path / "no" / "case.zip")) == 2
    assert run_verb("evidence", str(checkpoint), "-o", "x.zip", "--error", "nowhere") == 2
    assert "cannot be written" in capsys.readouterr().err
    assert not (checkpoint / "case.zip").exists()


def test_an_error_is_judged_with_it(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("java.lang.OutOfMemoryError: Java heap space")
    target = tmp_path / "case.zip"
    words = ("evidence", str(checkpoint), "-o", str(target), "--error", str(tmp_path / "log"))
    assert run_verb(*words) == 0
    with zipfile.ZipFile(target) as archive:
        findings = json.loads(archive.read("findings.json"))["findings"]
    assert "batch-keeps-failing" in [each["name"] for each in findings]


Members = list[tuple[zipfile.ZipInfo | str, bytes]]


def zip_of(members: Members, *, comment: bytes = b"") -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in members:
            archive.writestr(name, raw)
        archive.comment = comment
    return made.getvalue()


def member(name: str, mode: int = 0, flags: int = 0) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    info.flag_bits = flags
    return info


def packed_members() -> tuple[Members, bytes]:
    with zipfile.ZipFile(io.BytesIO(pack(MemoryStorage(FILES), None, {}).data)) as archive:
        return [(each, archive.read(each)) for each in archive.namelist()], archive.comment


def bad(data: bytes) -> str:
    found = read_bundle(io.BytesIO(data))
    assert isinstance(found, BadBundle), found
    return " ".join(found.reasons)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("members", "why"),
    [
        ([("/etc/passwd", b"")], "could lead outside"),
        ([("../x", b"")], "could lead outside"),
        ([("a/../../x", b"")], "could lead outside"),
        ([("a\\..\\x", b"")], "could lead outside"),
        ([("a//b", b"")], "could lead outside"),
        ([("a/", b"")], "could lead outside"),
        ([("a", b""), ("a", b"b")], "same name"),
        ([(member("a", stat.S_IFLNK | 0o777), b"/etc/passwd")], "is a link"),
        ([("a", b"x")], "no manifest"),
        ([(MANIFEST, b"{")], "no manifest"),
        ([(MANIFEST, b'{"format":"holdfast-evidence","version":9}')], "no manifest"),
    ],
)
def test_a_hostile_zip_is_refused(members: Members, why: str) -> None:
    assert why in bad(zip_of(members))


def test_a_bomb_an_encrypted_and_a_cut_zip_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.bundle.unpack._LARGEST_CONTENT", 1 << 20)
    assert "more than 1 MB" in bad(zip_of([("a", b"\0" * (2 << 20))]))
    lying = bytearray(zip_of([("a", b"\0" * (2 << 20))]))
    directory = lying.rindex(b"PK\x01\x02")
    lying[directory + 24 : directory + 28] = (10).to_bytes(4, "little")
    assert bad(bytes(lying))
    whole = pack(MemoryStorage(FILES), None, {}).data
    assert "not a zip" in bad(whole[: len(whole) // 2])
    assert "not a zip" in bad(b"")
    locked = bytearray(zip_of([("a", b"x")]))
    locked[locked.rindex(b"PK\x01\x02") + 8] |= 1
    assert "is encrypted" in bad(bytes(locked))


def test_what_was_changed_after_it_was_sealed_is_named() -> None:
    members, comment = packed_members()
    changed: Members = [
        (name, b"other" if name == "checkpoint/metadata" else raw) for name, raw in members
    ]
    assert "'checkpoint/metadata' was changed" in bad(zip_of(changed, comment=comment))
    more = bad(zip_of([*members, ("checkpoint/offsets/9", b"x")], comment=comment))
    assert "'checkpoint/offsets/9' is not in the manifest" in more
    assert "'checkpoint/commits/0' is missing" in bad(zip_of(members[1:], comment=comment))
    assert "does not fit the seal" in bad(zip_of(members, comment=b"other"))
    assert isinstance(read_bundle(io.BytesIO(zip_of(members, comment=comment))), Bundle)


def test_a_bad_bundle_is_an_answer_and_no_bug(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "case.zip").write_bytes(b"PK nothing")
    with pytest.raises(BundleError):
        open_checkpoint(str(tmp_path / "case.zip"))
    assert run_verb("inspect", str(tmp_path / "case.zip")) == 3
    assert "BUNDLE" in capsys.readouterr().err


def test_the_manifest_names_every_file() -> None:
    with zipfile.ZipFile(io.BytesIO(pack(MemoryStorage(FILES), None, {}).data)) as archive:
        manifest = decode(archive.read(MANIFEST))
    assert manifest is not None
    assert [each.path for each in manifest.files] == sorted(f"checkpoint/{path}" for path in FILES)
