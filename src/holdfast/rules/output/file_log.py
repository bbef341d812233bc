"""The log of a file sink."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_evidence import (
    LARGE_LOG,
    count_rows,
    file_outputs,
    split_writers,
    when_compacted,
)
from holdfast.rules.predicted import spark_will
from holdfast.rules.rule import Finding, rule
from holdfast.sources.kind import Amount
from holdfast.wording import batch_range, count


@rule("HF724", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.LOSES, Goal.BACKFILL)
def file_sink_shared(case: Case) -> Iterator[Finding]:
    """Two queries write to one output directory."""
    for output in file_outputs(case):
        own, others = split_writers(case, output)
        later = [each for each in others if own and each > min(own)]
        if not later:
            continue
        yield file_sink_shared.find(
            what=(
                f"Another query writes to {output.display_name} too: it holds batch {min(own)} of "
                f"this checkpoint, and {batch_range(later[0], later[-1])} of another one. Spark "
                "discards what this query writes under a number that is taken."
            ),
            how=(
                "Give each query a directory of its own, and load the input of "
                f"{batch_range(later[0], later[-1])} once with a batch job."
            ),
            accepting="both queries go on to lose batches",
            amount=count_rows(case, later),
            follows_from=(f"offsets/{later[0]}", f"_spark_metadata/{later[0]}"),
        )


@rule("HF725", Severity.BLOCKS_RESTART, Confidence.LIKELY, Effect.FAILS, Goal.RESET)
def file_sink_log_deleted(case: Case) -> Iterator[Finding]:
    """The output directory has data files, and its log is gone."""
    committed = case.newest_committed
    for output in file_outputs(case):
        if output.has_log or not output.has_files or committed < 0:
            continue
        fails = when_compacted(output, committed)
        yield file_sink_log_deleted.find(
            what=(
                f"Spark will fail when it compacts the log of {output.display_name}, {fails}: "
                f"_spark_metadata is gone, although {committed + 1:,} batches were "
                "committed. Until then readers do not see the files that are there."
            ),
            how="Restore _spark_metadata from a copy, or use a new output with a new checkpoint.",
            accepting="readers lose sight of the files that are there, and the query fails later",
            follows_from=(f"commits/{committed}", "_spark_metadata"),
        )


@rule("HF726", Severity.BLOCKS_RESTART, Confidence.LIKELY, Effect.FAILS, Goal.RESET)
def file_sink_retargeted(case: Case) -> Iterator[Finding]:
    """The checkpoint has committed batches, and the output directory is empty."""
    committed = case.newest_committed
    for output in file_outputs(case):
        if output.has_log or output.has_files or committed < 0:
            continue
        fails = when_compacted(output, committed)
        yield file_sink_retargeted.find(
            what=(
                f"{spark_will(case)} go on with batch {committed + 1} in {output.display_name}, "
                "which is empty, "
                f"and fail when it compacts the log there, {fails}. The rows "
                f"of {batch_range(0, committed)} are not in it."
            ),
            how="Start with the output that the query had before, or with a new checkpoint too.",
            accepting="the new directory lacks what was committed, and the query fails later",
            follows_from=(f"commits/{committed}", "_spark_metadata"),
        )


@rule("HF728", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESET)
def file_sink_log_incomplete(case: Case) -> Iterator[Finding]:
    """The output's log lacks entries that Spark needs."""
    for output in file_outputs(case):
        if output.newest is None or not output.holes:
            continue
        fails = when_compacted(output, max(output.newest, case.newest_committed))
        missing = ", ".join(map(str, output.holes))
        yield file_sink_log_incomplete.find(
            what=(
                f"Spark will fail when it compacts the log of {output.display_name}, {fails}: "
                f"the log has no entry for batch {missing}. Readers fail now."
            ),
            how="Restore the missing entries of _spark_metadata from a copy.",
            accepting=f"readers fail, and the query fails {fails}",
            follows_from=(f"_spark_metadata/{output.holes[0]}", f"_spark_metadata/{output.newest}"),
        )


@rule("HF729", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESET)
def file_sink_log_unreadable(case: Case) -> Iterator[Finding]:
    """An entry of the output's log is damaged."""
    for output in file_outputs(case):
        if output.newest is None or not output.unreadable:
            continue
        fails = when_compacted(output, max(output.newest, case.newest_committed))
        yield file_sink_log_unreadable.find(
            what=(
                f"Spark will fail when it compacts the log of {output.display_name}, {fails}: "
                f"{output.unreadable[0]}. Readers fail now."
            ),
            how=f"Restore {output.unreadable[0].partition(':')[0]} from a copy.",
            accepting=f"readers fail, and the query fails {fails}",
            follows_from=tuple(each.partition(":")[0] for each in output.unreadable),
        )


@rule("HF730", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.LOSES, Goal.REPLAY)
def file_sink_moved(case: Case) -> Iterator[Finding]:
    """The output's log lists files in another directory."""
    for output in file_outputs(case):
        if not output.elsewhere:
            continue
        yield file_sink_moved.find(
            what=(
                f"Spark's readers of {output.display_name} do not see {output.elsewhere:,} of the "
                f"{output.files:,} files in its log: they are listed in another directory, such as "
                f"{output.first_elsewhere}. A restart adds only new batches."
            ),
            how="Use the directory that the log names, or rewrite the paths in _spark_metadata.",
            accepting="readers see only what is written from now on",
            amount=Amount(number=output.elsewhere, unit="file"),
            follows_from=("_spark_metadata",),
        )


@rule("HF733", Severity.RISK, Confidence.CERTAIN, Effect.NONE, Goal.RESUME)
def file_sink_log_large(case: Case) -> Iterator[Finding]:
    """The output's log has grown so large that every tenth batch is slow."""
    for output in file_outputs(case):
        if output.compact_bytes <= LARGE_LOG:
            continue
        yield file_sink_log_large.find(
            what=(
                f"Spark writes {output.compact_bytes >> 20:,} MB of log anew every "
                f"{output.interval} batches of {output.display_name}, and every reader reads them."
            ),
            how="Plan a new output directory with a new checkpoint, or a table format.",
            follows_from=(f"_spark_metadata/{output.compact}.compact",),
        )


@rule("HF734", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def file_sink_files_not_listed(case: Case) -> Iterator[Finding]:
    """The output directory has data files that its log does not list."""
    for output in file_outputs(case):
        if not output.unlisted:
            continue
        yield file_sink_files_not_listed.find(
            what=(
                f"Spark's readers do not see {count(output.unlisted, 'data file')} in "
                f"{output.display_name} that the log does not list, such as "
                f"{output.first_unlisted} ({output.looked:,} looked at); other readers do."
            ),
            how="Delete the files while the query is stopped, if nothing else put them there.",
            amount=Amount(number=output.unlisted, unit="file"),
            follows_from=("_spark_metadata", output.first_unlisted),
        )
