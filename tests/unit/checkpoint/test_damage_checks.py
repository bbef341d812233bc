"""The damage suite itself: it sees a bug that is there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.checkpoint.commits import CommitEntry
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ids import BatchId
from tests.fuzz import limits, trials
from tests.fuzz.damages import Damage, parse_damage, shortenings
from tests.fuzz.hostile.case import Hostile
from tests.fuzz.hostile.judge import MOST_GROWN_BYTES, SECRET, judge
from tests.fuzz.parsers import Parser, parser_of
from tests.fuzz.runs import RunCase, named_in, try_inspect
from tests.fuzz.sandbox import Ran, Watch, Witnessed, witness
from tests.fuzz.shapes import fits
from tests.fuzz.specimens import Specimen, distinct_files
from tests.fuzz.suite import repeat
from tests.fuzz.trials import Failure, try_parser

PATH = "offsets/0"


def specimen_of(parse: Callable[[str, bytes], Iterator[object]]) -> Specimen:
    parser = Parser(kind="planted", parse=parse, types=int | Unparsed)
    return Specimen(archive="none", path=PATH, raw=b"raw", parser=parser)


def why(parse: Callable[[str, bytes], Iterator[object]]) -> str:
    failure = try_parser(specimen_of(parse), Damage("cut", 1))
    return "" if failure is None else failure.why


def test_a_parser_that_raises_is_seen() -> None:
    assert "IndexError" in why(lambda _, raw: iter([raw[7]]))


def test_a_parser_that_hangs_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "time_limit", lambda: limits.time_limit(0.05))

    def hang(_path: str, _raw: bytes) -> Iterator[object]:
        while True:
            yield 1
            os.getpid()

    def spin(path: str, raw: bytes) -> Iterator[object]:
        for _ in hang(path, raw):
            pass
        yield 1

    assert "took more than" in why(spin)


@pytest.mark.parametrize("value", ["text", None, True, 1.5, b"", (1,)])
def test_a_value_of_another_type_is_seen(value: object) -> None:
    assert "returned" in why(lambda _path, _raw: iter([value]))


@pytest.mark.parametrize(
    "unparsed", [Unparsed(path="elsewhere", reason="x"), Unparsed(path=PATH, reason="")]
)
def test_a_reason_that_names_nothing_is_seen(unparsed: Unparsed) -> None:
    assert "does not name" in why(lambda _path, _raw: iter([unparsed]))


def test_what_is_as_it_should_be_passes() -> None:
    assert why(lambda path, _raw: iter([1, Unparsed(path=path, reason="x")])) == ""


def test_a_wrong_type_deep_inside_a_value_is_seen() -> None:
    def commit(**changed: object) -> CommitEntry:
        fields = {"batch_id": BatchId(1), "version": 1, "next_watermark_ms": None}
        return CommitEntry(**{**fields, "state_ids": None, "sinks": None, **changed})  # type: ignore[arg-type]

    assert fits(commit(state_ids={"0": (("a",),)}), CommitEntry | Unparsed)
    assert not fits(commit(next_watermark_ms=True), CommitEntry | Unparsed)
    assert not fits(commit(state_ids={"0": ((1,),)}), CommitEntry | Unparsed)
    assert not fits(commit(sinks={"a": []}), CommitEntry | Unparsed)


def test_every_file_of_the_archives_has_a_parser_and_there_are_thousands() -> None:
    assert len(distinct_files()) > 6_000
    with pytest.raises(LookupError):
        parser_of("notes.txt", b"")


def test_a_small_file_is_cut_everywhere_and_a_large_one_in_200_places() -> None:
    assert [each.at for each in shortenings(b"abcd")] == [0, 1, 2, 3]
    large = [each.at for each in shortenings(bytes(5_000))]
    assert (len(large), len(set(large)), max(large) < 5_000) == (201, 201, True)


@pytest.mark.parametrize(
    ("damage", "left"), [("empty:0", b""), ("cut:2", b"ab"), ("flip:9", b"a`cd")]
)
def test_damage_is_what_its_name_says(damage: str, left: bytes) -> None:
    assert parse_damage(damage).apply(b"abcd") == left
    assert str(parse_damage(damage)) == damage


def test_a_file_that_inspect_does_not_name_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    specimen = next(each for each in distinct_files() if each.path == "metadata")
    case = RunCase(specimen=specimen, damage=Damage("cut", 5))
    assert try_inspect(case) == "named"
    monkeypatch.setattr("tests.fuzz.runs.named_in", lambda _document: {})
    assert isinstance(try_inspect(case), Failure)
    monkeypatch.setattr("tests.fuzz.runs.inspect_checkpoint", lambda _reader: 1 / 0)
    assert isinstance(try_inspect(case), Failure)


def test_only_what_is_wrong_counts_as_named() -> None:
    document = {
        "leftovers": ["a"], "forgotten_checksums": [], "edited": ["b"], "foreign": [],
        "operators": [{"missing": ["c"], "damaged": []}], "stores": None,
        "unparsed": [{"path": "d", "reason": "why"}], "files": [{"path": "e"}],
    }  # fmt: skip
    assert named_in(document) == {"a": "", "b": "", "c": "", "d": "why"}


def wrong_with(seen: Witnessed, **case: object) -> list[str]:
    return list(judge(Hostile(name="x", make=dict, in_memory=True, **case), seen))  # type: ignore[arg-type]


def ran(*, code: int = 0, output: str = "", errors: str = "", seconds: float = 0) -> Ran:
    return Ran(exit_code=code, output=output, errors=errors, cpu_seconds=seconds)


@pytest.mark.parametrize(
    "seen",
    [
        Witnessed(stuck=True),
        Witnessed(touched=["open 'x'"]),
        Witnessed(grown_bytes=MOST_GROWN_BYTES + 1),
        Witnessed(runs={"text": ran(code=70)}),
        Witnessed(runs={"text": ran(seconds=5.1)}),
        Witnessed(runs={"text": ran(output=SECRET)}),
        Witnessed(runs={"text": ran(output="a\x1b[2J")}),
        Witnessed(runs={"json": ran(errors="a\x9b")}),
        Witnessed(runs={"json": ran(output="{")}),
    ],
)
def test_harm_is_seen(seen: Witnessed) -> None:
    assert wrong_with(seen)


def test_no_harm_is_none() -> None:
    runs = {"text": ran(output="a\nb: offsets/0\n"), "json": ran(code=3, errors="offsets/0")}
    assert wrong_with(Witnessed(runs=runs), names=("offsets/0",), shows=("b:",)) == []
    assert wrong_with(Witnessed(runs=runs), names=("offsets/1",)) == ["does not name offsets/1"]
    assert wrong_with(Witnessed(runs=runs), shows=("c:",)) == ["does not show 'c:'"]


def test_a_watch_that_sees_nothing_is_no_proof() -> None:
    assert list(judge(Hostile(name="x", make=dict), Witnessed()))


def test_what_is_opened_outside_or_changed_is_seen(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    (inside / "link").symlink_to(outside)
    seen = Witnessed()
    watch = Watch(str(inside), seen)
    for path in (inside, inside / "offsets" / "0"):
        watch("open", (str(path), "r", os.O_RDONLY))
    assert (seen.touched, len(seen.opened_inside)) == ([], 2)
    watch("open", (str(outside), "r", os.O_RDONLY))
    watch("open", (str(inside / "link"), "r", os.O_RDONLY))
    watch("os.scandir", (str(tmp_path),))
    watch("open", (str(inside / "new"), "w", os.O_WRONLY | os.O_CREAT))
    watch("os.remove", (str(inside / "new"), -1))
    watch("socket.connect", (None, ("localhost", 1)))
    assert len(seen.touched) == 6


def test_a_process_is_watched_in_earnest(tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text("{}")
    seen = witness(tmp_path)
    assert {str(tmp_path), str(tmp_path / "metadata")} <= set(seen.opened_inside)
    assert seen.runs["text"].output


@pytest.mark.parametrize("name", ["hostile:nothing", "nothing:4.2-kafka:metadata:cut:1"])
def test_a_case_that_is_not_there_cannot_be_repeated(name: str) -> None:
    with pytest.raises(ValueError, match="named"):
        repeat(name)


def test_a_case_is_repeated_by_its_name() -> None:
    assert repeat("parser:4.2-kafka:offsets/2:cut:9") is None
    assert repeat("inspect:4.2-kafka:offsets/2:flip:9") is None
