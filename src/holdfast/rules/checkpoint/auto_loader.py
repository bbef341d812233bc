"""Databricks Auto Loader."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.layout import SOURCES
from holdfast.evidence.auto_loader import find_auto_loader, newest_schema
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, rule
from holdfast.sources.auto_loader.kind import FILE_LOG, SCHEMAS


@rule("HF911", Severity.NOTE, Confidence.LIKELY, Effect.NONE, Goal.RESUME)
def auto_loader_schema_changed(case: Case) -> Iterator[Finding]:
    """Auto Loader stopped because the schema of its files changed; a restart is the answer."""
    newest = newest_schema(case.times)
    planned = case.times.get(f"offsets/{case.newest_planned}")
    if newest is None or planned is None or next(find_auto_loader(case.checkpoint), None) is None:
        return
    number, written = newest
    # Entry 0 is the first schema, which is inferred before the first batch.
    if number == 0 or written <= planned:
        return
    yield auto_loader_schema_changed.find(
        what=(
            f"Auto Loader wrote schema {number} at {written:%Y-%m-%d %H:%M} UTC, after the newest "
            f"batch, {case.newest_planned}, was planned. This stop was a schema change, and a "
            "restart is the right answer: Spark runs the batch again with the new columns."
        ),
        how="Restart the query, and check that the sink accepts the new columns.",
        follows_from=(f"{SCHEMAS}/{number}", f"offsets/{case.newest_planned}"),
    )


@rule("HF912", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.REPEATS, Goal.RESET)
def auto_loader_file_log_missing(case: Case) -> Iterator[Finding]:
    """The offsets of Auto Loader are there, and its log of files is gone."""
    checkpoint = case.checkpoint
    logs = {log.name: log for log in checkpoint.sources}
    for source, offset in find_auto_loader(checkpoint):
        log = logs.get(source)
        is_gone = SOURCES not in checkpoint.directories
        if not is_gone and (log is None or FILE_LOG in log.directories):
            continue
        yield auto_loader_file_log_missing.find(
            what=(
                f"Auto Loader is at file {offset.sequence:,}, and {SOURCES}/{source}/{FILE_LOG}, "
                "which says which files that are, is not there. Auto Loader fails, or reads every "
                "file in the input directory again."
            ),
            how=f"Restore {SOURCES}/ from the copy that the offsets come from.",
            follows_from=(f"offsets/{case.newest_planned}", f"{SOURCES}/{source}/{FILE_LOG}"),
        )


@rule("HF913", Severity.NOTE, Confidence.UNKNOWN, Effect.NONE, Goal.NONE)
def auto_loader_schema_log_elsewhere(case: Case) -> Iterator[Finding]:
    """Auto Loader's schema log is not in the checkpoint: it is elsewhere, or gone."""
    if SCHEMAS in case.checkpoint.foreign or next(find_auto_loader(case.checkpoint), None) is None:
        return
    yield auto_loader_schema_log_elsewhere.find(
        what=(
            f"The checkpoint of Auto Loader has no {SCHEMAS}/. If its schema log was deleted, "
            "Spark starts with a schema that is inferred anew."
        ),
        how=f"Check that {SCHEMAS}/ is in the directory that cloudFiles.schemaLocation names.",
        follows_from=(f"offsets/{case.newest_planned}",),
    )


@rule("HF914", Severity.NOTE, Confidence.UNKNOWN, Effect.NONE, Goal.NONE)
def auto_loader_backlog_unknown(case: Case) -> Iterator[Finding]:
    """How many files wait for Auto Loader is not in the checkpoint."""
    for source, offset in find_auto_loader(case.checkpoint):
        yield auto_loader_backlog_unknown.find(
            what=(
                f"Source {source} is Auto Loader at file {offset.sequence:,}. How many files wait "
                "is not known: a queue of file notifications can have forgotten some of them."
            ),
            how=(
                "If the query was stopped for longer than its queue keeps messages, set "
                "cloudFiles.backfillInterval before you start it."
            ),
            follows_from=(f"offsets/{case.newest_planned}",),
        )
