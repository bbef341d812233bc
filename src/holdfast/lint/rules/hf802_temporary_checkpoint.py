"""HF802: a checkpoint is in a temporary directory."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.rule import CheckpointFault, LintFinding, LintRule

_TEMPORARY = re.compile(
    r"(file:/*|dbfs:/+|hdfs:/{2,3}|/dbfs/)?/?(tmp|var/tmp|local_disk0|dev/shm)(/|$)"
)


def _judge(program: Program) -> Iterator[LintFinding]:
    for query in program.queries:
        checkpoint = query.checkpoint
        if checkpoint is None or program.is_shown_only(query):
            continue
        if below := checkpoint.value.temporary:
            yield RULE.find(
                f"The checkpoint is below {below}, a temporary directory. When it is cleaned up, "
                "Spark starts again from the source's starting position.",
                checkpoint.at,
            )
        start = checkpoint.value.start
        if start.startswith(("/", "file:", "dbfs:", "hdfs:")) and _TEMPORARY.match(start):
            shown = checkpoint.value.known or f"{start}…"
            yield RULE.find(
                f"The checkpoint {shown} is in a temporary directory. When it is cleaned up, Spark "
                "starts again from the source's starting position.",
                checkpoint.at,
            )


RULE = LintRule(
    code="HF802",
    name="temporary-checkpoint",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    judge=_judge,
    fault=CheckpointFault.TEMPORARY,
    change="Set checkpointLocation to a fixed path that outlives the driver.",
)
