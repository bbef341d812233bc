"""HF912: the offsets of Auto Loader are there, and its log of files is gone.

## What it finds

The newest offset entry is one of Databricks Auto Loader, and `sources/<i>/rocksdb/` is not there.
That RocksDB store says which files have been read. The checkpoint was copied without it, or it was
deleted.

## What Spark does

The offset is only a number, which the store maps to files. Without the store, Auto Loader fails, or
takes every file in the input directory for a new one and reads all of them again.

## What to do

Restore `sources/` from the copy of the checkpoint that the offsets come from. If there is none,
reset the stream: begin with an empty output, or with `cloudFiles.includeExistingFiles` set to
`false` if the output is complete.

## What it cannot see

What Auto Loader does without the store. Its code is not public; this rule follows its documentation
and public samples.

## Where this comes from

- Databricks's documentation:
  [What is Auto Loader?](https://docs.databricks.com/aws/en/ingestion/cloud-object-storage/auto-loader/)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.layout import SOURCES
from holdfast.checkpoint.sources.auto_loader import FILE_LOG
from holdfast.evidence.auto_loader import find_auto_loader
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    checkpoint = case.checkpoint
    logs = {log.name: log for log in checkpoint.sources}
    for source, offset in find_auto_loader(checkpoint):
        log = logs.get(source)
        is_gone = SOURCES not in checkpoint.directories
        if not is_gone and (log is None or FILE_LOG in log.directories):
            continue
        yield RULE.find(
            what=(
                f"Auto Loader is at file {offset.sequence:,}, and {SOURCES}/{source}/{FILE_LOG}, "
                "which says which files that are, is not there. Auto Loader fails, or reads every "
                "file in the input directory again."
            ),
            how=f"Restore {SOURCES}/ from the copy that the offsets come from.",
            follows_from=(f"offsets/{case.newest_planned}", f"{SOURCES}/{source}/{FILE_LOG}"),
        )


RULE = Rule(
    code="HF912",
    name="auto-loader-file-log-missing",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.REPEATS,
    goal=Goal.RESET,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
