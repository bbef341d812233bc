"""What was done to a stream is part of its history: a proof follows it, and says *exact*."""

from __future__ import annotations

import shlex
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.cli.exit_codes import ExitCode
from holdfast.proof.values import Proof, ProofVerdict, TableProof
from lab import Kafka
from tests import calling
from tests.spark.file_stream import Stream, wait_until_given_up

pytestmark = pytest.mark.sampled(2)
"""`HOLDFAST_ALL=1` runs all of them."""

DSN = "HISTORIES_DSN"
ONCE = {"availableNow": True}


@dataclass(kw_only=True)
class History:
    """A stream, the commands that change it, and what a proof says of it."""

    stream: Stream
    home: Path
    capsys: pytest.CaptureFixture[str]
    number: int = 3
    """Of the next file."""

    def pipeline(self, root: str = "streams", *, name: str = "readings", **more: Any) -> Any:
        found = hf.Pipeline("histories", root=str(self.home / root))
        into = more.pop("into", None) or hf.Postgres(f"env:{DSN}", table=name)
        build = more.pop("build", self.read)
        found.stream(name, into=into)(build)
        return found

    def read(self, spark: Any) -> Any:
        reader = spark.readStream.format("text").option("maxFilesPerTrigger", 1)
        return reader.load(str(self.stream.files))

    def run(self, pipeline: Any, *, files: int = 1) -> None:
        for _ in range(files):
            self.stream.add(self.number)
            self.number += 1
        (query,) = pipeline.start(self.stream.spark, trigger=ONCE).values()
        query.awaitTermination()
        wait_until_given_up()

    def prove(self, pipeline: Any, **more: Any) -> TableProof:
        proof: Proof = pipeline.prove(self.stream.spark, **more)
        (found,) = proof.tables
        return found

    def assert_exact(self, pipeline: Any, rows: int, **more: Any) -> None:
        found = self.prove(pipeline, **more)
        assert found.verdict is ProofVerdict.EXACT, (found.reason, found.compared)
        assert found.compared is not None
        assert found.compared.found == rows
        assert found.next_step == ""

    def call(self, *arguments: str) -> str:
        code, out, err = calling.call(self.capsys, *arguments)
        assert code == ExitCode.DONE, out + err
        return out

    def apply(self, goal: str, *options: str, allow: tuple[str, ...] = ()) -> str:
        """Make a plan and carry it out; return what `apply` has said."""
        place = str(self.home / f"{uuid.uuid4().hex}.json")
        root = () if "--root" in options else ("--root", str(self.home / "streams"))
        self.call("plan", goal, "readings", *root, *options, "-o", place)
        words = [part for word in allow for part in ("--allow", f"{word}:readings")]
        return self.call("apply", place, "--execute", *words)


@pytest.fixture
def history(
    stream: Stream,
    tmp_path: Path,
    *,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> History:
    monkeypatch.setenv(DSN, stream.dsn)
    return History(stream=stream, home=tmp_path, capsys=capsys)


def test_resets_rewinds_undos_and_moves(history: History) -> None:
    pipeline = history.pipeline()
    history.run(pipeline, files=0)
    history.assert_exact(pipeline, 3)

    history.apply("reset", "--from", "here", "--output", "keep-from-here")
    history.run(pipeline)
    history.assert_exact(pipeline, 4)

    said = history.apply(
        *("reset", "--from", "here", "--output", "truncate"), allow=("destructive", "skips-data")
    )
    (undo,) = [line for line in said.splitlines() if line.startswith("Undo: holdfast ")]
    history.call(*shlex.split(undo)[2:], "--execute")
    history.run(pipeline)
    history.assert_exact(pipeline, 5)

    history.apply(
        *("reset", "--from", "here", "--output", "truncate"), allow=("destructive", "skips-data")
    )
    history.run(pipeline, files=2)
    history.assert_exact(pipeline, 2)
    history.apply("rewind", "--to-batch", "2")
    history.run(pipeline)
    history.assert_exact(pipeline, 3)

    history.apply("move", "--to", str(history.home / "other"))
    moved = history.pipeline("other")
    history.run(moved)
    history.assert_exact(moved, 4)

    history.stream.execute("INSERT INTO readings SELECT * FROM readings LIMIT 1")
    found = history.prove(moved)
    assert found.verdict is ProofVerdict.NOT_EXACT
    # What it says to do is done.
    command = shlex.split(found.next_step.partition("run: holdfast ")[2])
    history.apply(*command[1:2], *command[3:], allow=("destructive",))
    history.run(moved)
    history.assert_exact(moved, history.number)


def test_a_backfill_is_part_of_it_and_gives_back_what_is_lost(history: History) -> None:
    spark, source = history.stream.spark, str(history.home / "source")
    for start in (0, 3):
        rows = spark.range(start, start + 3, numPartitions=1).selectExpr("id", "1L AS seq")
        rows.write.format("delta").mode("append").save(source)
    history.stream.execute("CREATE TABLE merged (id bigint PRIMARY KEY, seq bigint)")
    history.stream.execute("CREATE TABLE appended (id bigint, seq bigint)")

    def read(session: Any) -> Any:
        return session.readStream.format("delta").option("startingVersion", "1").load(source)

    keyed = hf.Postgres(f"env:{DSN}", table="merged", keys=["id"], sequence_by="seq")
    merged = history.pipeline(name="merged", into=keyed, build=read)
    appended = history.pipeline(name="appended", build=read)
    for pipeline, name in ((merged, "merged"), (appended, "appended")):
        history.run(pipeline, files=0)
        history.assert_exact(pipeline, 3)
        hf.backfill(pipeline, spark, name, start=0, end=1)
        history.assert_exact(pipeline, 6)
        history.stream.execute(f"DELETE FROM {name} WHERE id IN (1, 4)")
        found = history.prove(pipeline)
        assert found.verdict is ProofVerdict.NOT_EXACT
        assert found.compared is not None
        assert found.compared.lost == 2
        if name == "appended":  # a second copy of the others would come with it
            assert "holdfast backfill" not in found.next_step
            continue
        options = shlex.split(found.next_step.partition("holdfast backfill ")[2])
        given = dict(zip(options[2:-1:2], options[3:-1:2], strict=True))
        hf.backfill(pipeline, spark, name, start=given["--from"], end=given["--to"])
        history.assert_exact(pipeline, 6)


@pytest.mark.parametrize("began", ["earliest", "latest"])
def test_a_deleted_checkpoint_of_kafka(history: History, kafka: Kafka, began: str) -> None:
    topic = f"histories_{uuid.uuid4().hex[:8]}"
    kafka.create_topic(topic, partitions=1)

    def read(session: Any) -> Any:
        options = {
            "kafka.bootstrap.servers": kafka.address,
            "subscribe": topic,
            "startingOffsets": began,
        }
        reader = session.readStream.format("kafka").options(**options)
        return reader.load().selectExpr("cast(value as string) AS value")

    pipeline = history.pipeline(build=read)
    for text in (b"before", b"first"):
        kafka.produce(topic, [(0, b"", text, 0)])
        history.run(pipeline, files=0)  # from the newest record on, the first run reads nothing
    shutil.rmtree(history.home / "streams/readings")
    history.apply("resume")
    kafka.produce(topic, [(0, b"", b"second", 0)])
    history.run(pipeline, files=0)
    if began == "earliest":
        history.assert_exact(pipeline, 3)
        return
    found = history.prove(pipeline)
    assert found.verdict is ProofVerdict.NOT_COMPARED
    assert "holdfast prove MODULE:PIPELINE readings --from earliest" in found.next_step
    history.assert_exact(pipeline, 2, began={topic: {"0": 1}})
    assert history.prove(pipeline, began="earliest").verdict is ProofVerdict.NOT_EXACT
