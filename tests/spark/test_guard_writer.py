"""`hf.guard`: a chain of `df.writeStream` keeps its options, and its checkpoint."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast as hf
from holdfast.streams.refusal import StartRefusedError
from tests.spark.file_stream import Stream, wait_until_given_up


def guarded(stream: Stream, writer: Any, **more: Any) -> Any:
    given = {"stream": "readings", "into": stream.sink(), "root": str(stream.root)}
    return hf.guard(writer, **{**given, **more})


def test_a_chain_runs_as_a_guarded_stream(stream: Stream) -> None:
    for _ in range(2):
        chain = stream.source.writeStream.trigger(availableNow=True).outputMode("append")
        guarded(stream, chain).start().awaitTermination()
        wait_until_given_up()
    assert stream.rows() == ["row 0", "row 1", "row 2"]
    assert (stream.root / "_holdfast/readings/generations/0001.json").exists()


def test_its_checkpoint_is_taken_over(stream: Stream) -> None:
    old = stream.root / "elsewhere"
    stream.run_unguarded(old)
    stream.add(3)

    def start(**more: str) -> None:
        chain = stream.source.writeStream.option("checkpointLocation", str(old))
        guarded(stream, chain.trigger(availableNow=True), **more).start().awaitTermination()
        wait_until_given_up()

    with pytest.raises(StartRefusedError, match="HF610") as refused:
        start()
    start(accept=f"HF610:{refused.value.nonces['HF610']}")
    assert stream.rows() == ["row 0", "row 1", "row 2", "row 3"]


def test_its_output_mode_is_judged(stream: Stream) -> None:
    counts = stream.source.groupBy("value").count().writeStream.outputMode("complete")
    with pytest.raises(hf.ConfigError, match="Output mode complete"):
        guarded(stream, counts).start()


def test_what_is_no_chain_or_has_a_function_is_told(stream: Stream) -> None:
    with pytest.raises(hf.ConfigError, match=r"takes df\.writeStream"):
        guarded(stream, stream.source)
    with pytest.raises(hf.ConfigError, match=r"hf\.ForeachBatch"):
        guarded(stream, stream.source.writeStream.foreachBatch(lambda *_: None))
