"""HF821: a source may skip lost data without an error.

## What it finds

A streaming source has the option `failOnDataLoss` set to false.

## What Spark does

If data that the checkpoint still needs is gone from the source, Spark skips it and logs a warning.
The rows are missing without an error.

## What to do

Remove the option. Set it for one supervised start only, after the gap is recorded.

## Where this comes from

- Spark 4.2.0, `reportDataLoss` in
  [KafkaMicroBatchStream.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaMicroBatchStream.scala)
- Spark's documentation:
  [Structured Streaming + Kafka Integration Guide](https://spark.apache.org/docs/latest/streaming/structured-streaming-kafka-integration.html)
- Measured, in the repository, by
  `python -m campaigns.situations kafka-records-expired-ignored`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.queries import FILE_FORMATS, format_of_reader, read_options
from holdfast.lint.rule import LintFinding, LintRule


def _judge(program: Program) -> Iterator[LintFinding]:
    for reader in program.readers:
        options, _ = read_options(reader.steps)
        given = options.get("failondataloss")
        is_file = format_of_reader(reader.steps) in FILE_FORMATS  # they do not know the option
        if given and not is_file and (given.value.known or "").lower() == "false":
            yield RULE.find(
                "failOnDataLoss is false: if data is gone from the source, Spark skips it and only "
                "logs a warning.",
                given.at,
            )


RULE = LintRule(
    code="HF821",
    name="data-loss-ignored",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    judge=_judge,
)
