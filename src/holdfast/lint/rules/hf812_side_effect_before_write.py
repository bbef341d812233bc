"""HF812: foreachBatch tells others about a batch before it is written."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.rule import LintFinding, LintRule

_SENDS = {
    *("requests.post", "requests.put", "requests.patch", "httpx.post", "httpx.put"),
    *("producer.send", "producer.produce", "smtp.sendmail", "server.sendmail", "smtp.send_message"),
    *("sns.publish", "sns_client.publish", "sqs.send_message", "sqs_client.send_message"),
}


def _judge(program: Program) -> Iterator[LintFinding]:
    for batch in program.batch_functions:
        own = {id(each) for each in ast.walk(batch.function)}
        lines = [write.at[0] for write in batch.writes if id(write.call) in own]
        for call in ast.walk(batch.function):
            if not isinstance(call, ast.Call) or ast.unparse(call.func) not in _SENDS:
                continue
            if any(line > (call.end_lineno or call.lineno) for line in lines):
                yield RULE.find(
                    "This happens before the batch is written. If the write fails, the batch runs "
                    "again and this happens twice.",
                    (call.lineno, call.col_offset + 1),
                )


RULE = LintRule(
    code="HF812",
    name="side-effect-before-write",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    judge=_judge,
)
