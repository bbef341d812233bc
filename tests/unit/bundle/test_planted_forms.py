"""None of 200 planted secrets is in anything that is shown, packed or found."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from holdfast.bundle.pack import pack
from holdfast.cli.main import run
from holdfast.evidence.spark_error import read_spark_error
from holdfast.redact import redact
from holdfast.storage.memory import MemoryStorage
from tests.planted_forms import PLANTED
from tests.planted_secrets import HEAD, TAIL, find_leaks

QUERY_ID = "6f0c0000-0000-4000-8000-000000000000"


def offsets(text: str) -> bytes:
    settings = {"spark.sql.shuffle.partitions": "2", "spark.given": text}
    name, equals, value = text.partition("=")
    if equals:
        settings[name] = value  # the value of an option, by its name
    head = {"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": settings}
    source = {"path": text, "logOffset": 0, "options": {"given": text}}
    return f"v1\n{json.dumps(head)}\n{json.dumps(source)}".encode()


def files_with(text: str, number: int) -> dict[str, bytes]:
    """Return files of a checkpoint that have a text in every place that can have one."""
    logged = json.dumps({"path": text, "timestamp": 1, "batchId": number})
    name = text.replace("/", "").replace("\n", " ")
    return {
        f"offsets/{number}": offsets(text),
        f"offsets/{number + 1_000}": f"v1\n{text}".encode(),
        f"commits/{number}": f'v1\n{{"sink":{json.dumps(text)}}}'.encode(),
        f"sources/0/{number}": f"v1\n{logged}".encode(),
        f"sources/1/{name}": text.encode(),
        f"extra/{name}": text.encode(),
        f"offsets/{name}": text.encode(),
        f"state/{number}/_metadata/metadata": f'v1\n{{"x":{json.dumps(text)}}}'.encode(),
    }


def write_all(home: Path, files: dict[str, bytes]) -> None:
    for path, raw in files.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(raw)


def error_with(text: str) -> str:
    return (
        f"ERROR [KAFKA_DATA_LOSS.START_OFFSET_RESET] option {text}\n{text}\n"
        f"org.example.FailedException: {text} rename from /cp/offsets/{text} to /x failed\n"
    )


def texts_of_bundle(data: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        held = [archive.read(each).decode("utf-8", "replace") for each in archive.namelist()]
        return [*held, *archive.namelist(), archive.comment.decode()]


@pytest.mark.parametrize("name", PLANTED)
def test_a_secret_is_not_shown_and_not_read_from_an_error(name: str) -> None:
    text, planted = PLANTED[name]
    errors = read_spark_error(error_with(text)).errors
    assert errors
    assert find_leaks([redact(text), *map(repr, errors)], planted) == []


def test_no_secret_is_in_what_a_verb_shows_or_packs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "readings"
    write_all(home, {"metadata": json.dumps({"id": QUERY_ID}).encode()})
    for number, (text, _) in enumerate(PLANTED.values()):
        write_all(home, files_with(text, number))
    (tmp_path / "error").write_text("".join(error_with(text) for text, _ in PLANTED.values()))
    bundle = str(tmp_path / "case.zip")
    for words in (
        ["inspect", str(home), "--files"],
        ["inspect", str(home), "--files", "--format", "json"],
        ["inspect", str(tmp_path)],
        ["evidence", str(home), "-o", bundle, "--error", str(tmp_path / "error")],
        ["inspect", bundle, "--files"],
        *(
            ["diagnose", place, "--format", form, "--error", str(tmp_path / "error")]
            for form in ("text", "json", "markdown", "sarif")
            for place in (str(home), bundle)
        ),
        ["facts", str(home)],
        ["facts", bundle, "--format", "json"],
    ):
        with pytest.raises(SystemExit) as left:
            run(words)
        assert left.value.code in (0, 1, 3), words
    shown = [*capsys.readouterr(), *texts_of_bundle((tmp_path / "case.zip").read_bytes())]
    assert find_leaks(shown, HEAD) + find_leaks(shown, TAIL) == []


@pytest.mark.parametrize("name", list(PLANTED)[::10])
@pytest.mark.parametrize("form", ["text", "json"])
def test_no_secret_is_in_what_is_shown_of_one_batch(
    name: str, form: str, tmp_path: Path, *, capsys: pytest.CaptureFixture[str]
) -> None:
    text, planted = PLANTED[name]
    write_all(tmp_path, files_with(text, 0))
    with pytest.raises(SystemExit):
        run(["inspect", str(tmp_path), "--batch", "0", "--format", form])
    assert find_leaks([*capsys.readouterr()], planted) == []


def test_no_secret_is_in_what_is_packed_of_a_record() -> None:
    contracts = {
        f"contracts/{number}.json": json.dumps(
            {"format": "contract", "sources": [f"FileSource[{text}]"], "plan": text}, indent=1
        ).encode()
        for number, (text, _) in enumerate(PLANTED.values())
    }
    record = MemoryStorage(contracts)
    packed = pack(MemoryStorage({"metadata": b"{}"}), record, {"facts.json": [*contracts]})
    shown = texts_of_bundle(packed.data)
    assert find_leaks(shown, HEAD) + find_leaks(shown, TAIL) == []
    assert {each.file.partition("/")[0] for each in packed.manifest.removed} == {"record"}
    assert len({each.file for each in packed.manifest.removed}) == len(PLANTED)


def test_the_files_can_still_be_parsed_without_their_secrets() -> None:
    text, _ = PLANTED["0 "]
    data = pack(MemoryStorage(files_with(text, 1)), None, {}).data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        head, source = archive.read("checkpoint/offsets/1").decode().split("\n")[1:]
    assert json.loads(head)["conf"]["spark.sql.shuffle.partitions"] == "2"
    assert json.loads(head)["conf"]["fs.s3a.secret.key"] == "***"
    assert json.loads(source)["path"] == "fs.s3a.secret.key=***"
