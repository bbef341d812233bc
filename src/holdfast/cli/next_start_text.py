"""What the next start will do, in sentences; the first one is the answer."""

from __future__ import annotations

from holdfast.checkpoint.read import Checkpoint
from holdfast.evidence.needed_entries import lacks_settings
from holdfast.evidence.outcomes import (
    NextStart,
    Refuses,
    Reread,
    Resumes,
    RunsAgain,
    StartsFresh,
    Unknown,
)
from holdfast.evidence.overview import Overview
from holdfast.evidence.progress import has_run
from holdfast.evidence.wording import describe_position, describe_range, versions
from holdfast.grades import Severity
from holdfast.ids import BatchId
from holdfast.judgement.judge import Judgement
from holdfast.spark_versions import SparkVersion
from holdfast.wording import batches, count


def say_next_start(overview: Overview) -> list[str]:
    """Say what the next start will do."""
    if overview.checkpoint.is_empty and isinstance(overview.next_start, StartsFresh):
        return [
            f"There is no checkpoint at {overview.checkpoint.location}.",
            "A query that is started with this location begins with batch 0 and a new query id.",
        ]
    return [*_say(overview, overview.next_start), *_say_elsewhere(overview)]


def say_findings(found: Judgement) -> list[str]:
    """Say what the rules found beside the prediction."""
    return [
        f"{each.code} {each.name} ({each.confidence}): {each.what}"
        for each in found.findings
        if each.severity is not Severity.NOTE and not each.is_predicted
    ]


def _say(overview: Overview, found: NextStart) -> list[str]:
    match found:
        case Resumes():
            return _say_resumes(overview, found)
        case RunsAgain():
            return _say_runs_again(overview, found)
        case StartsFresh():
            return _say_fresh(overview, found)
        case Refuses(code=code, error=error, because=because, in_batch=batch):
            first = "Spark will refuse to start" if batch is None else f"Batch {batch} will fail"
            return [
                f"{first}: {because}.",
                f"Spark's error will contain: {error}",
                f"Code: {code.display_name} (docs/reference/refusals.md).",
            ]
        case Unknown(because=because):
            return [f"What the next start does is unknown: {because}."]


def _say_resumes(overview: Overview, found: Resumes) -> list[str]:
    if found.then is not None:
        return _say_then_fails(overview, found)
    if found.rereads:
        return [*_say_rereads(found), *_say_state(found)]
    read = "; ".join(map(describe_position, overview.progress.sources)) or "no source"
    said = (
        f"Batch {found.batch_id - 1} is committed: the next start continues with batch "
        f"{found.batch_id} ({read}){_if_stateless(found)}."
    )
    return [said, *_say_state(found)]


def _say_runs_again(overview: Overview, found: RunsAgain) -> list[str]:
    if found.then is not None:
        return _say_then_fails(overview, found)
    batch = found.batch_id
    ranges = "; ".join(map(describe_range, overview.progress.sources)) or "no source"
    said = [
        f"Batch {batch} is pending: the next start runs it again, same range ({ranges})"
        f"{_if_stateless(found)}.",
        f"If batch {batch} already reached the sink, a sink that does not recognise it holds those "
        "records twice.",
    ]
    if found.passed_over:
        one = len(found.passed_over) == 1
        said.append(
            f"{count(len(found.passed_over), 'batch')} ({batches(found.passed_over)}) "
            f"{'has' if one else 'have'} no commit entry and {'is' if one else 'are'} not run "
            "again: rows that had not reached the sink are lost."
        )
    return [*said, *_say_rereads(found), *_say_state(found)]


def _say_then_fails(overview: Overview, found: Resumes | RunsAgain) -> list[str]:
    """Say of a batch that its rows reach the sink before Spark fails to commit it."""
    again = " again" if isinstance(found, RunsAgain) else ""
    return [
        f"The next start writes batch {found.batch_id} to the sink{again}, then fails: "
        f"{found.then}",
        _say_why_it_fails(overview.checkpoint, found.batch_id),
        *_say_rereads(found),
        *_say_state(found),
    ]


def _say_why_it_fails(checkpoint: Checkpoint, batch: BatchId) -> str:
    if batch in checkpoint.commits and not checkpoint.offsets:
        why = f"Offset entries were deleted: commits/ has batch {batch}, offsets/ has none."
    elif batch in checkpoint.commits:
        why = f"Offset entries were deleted: commits/ has batches after {batch}, offsets/ has none."
    elif lacks_settings(checkpoint, batch):
        why = f"The second line of offsets/{batch}, which holds the settings, is empty."
    else:
        why = f"The orphaned checksum commits/.{batch}.crc blocks the commit entry."
    return f"{why} This repeats at every start."


def _say_fresh(overview: Overview, found: StartsFresh) -> list[str]:
    if found.then is not None:
        return [
            f"The next start writes batch 0 to the sink, then fails: {found.then}",
            _say_why_it_fails(overview.checkpoint, BatchId(0)),
            _where_it_begins(overview),
        ]
    id_ = "a new query id" if found.new_query_id else "the query id in metadata"
    said = [f"The next start begins with batch 0 and {id_}.", _where_it_begins(overview)]
    if has_run(overview.checkpoint):
        said.append("The query has run before: rows that it wrote to the sink can be duplicated.")
    return said


def _where_it_begins(overview: Overview) -> str:
    decides = (
        "The files in sources/ decide"
        if overview.checkpoint.sources
        else "The options of the source, such as startingOffsets, decide"
    )
    return f"{decides} where it begins to read."


def _say_rereads(found: Resumes | RunsAgain) -> list[str]:
    return [
        f"The next start reads source {each.source} again from {_where(each)}: its offset is "
        "missing. Rows that already reached the sink are duplicated."
        for each in found.rereads
    ]


def _where(found: Reread) -> str:
    return "its beginning" if found.after is None else f"the end of batch {found.after}"


def _if_stateless(found: Resumes | RunsAgain) -> str:
    return "" if found.unless is None else ", if the query is stateless"


def _say_state(found: Resumes | RunsAgain) -> list[str]:
    """Say what the answer leaves open where there is no state."""
    if found.unless is None:
        return []
    refused = "Spark refuses to start a stateful query on this checkpoint"
    return [f"There is no state/ directory: {refused}."]


def _say_elsewhere(overview: Overview) -> list[str]:
    """Say what versions that do something else would do, each answer once."""
    here = _say(overview, overview.next_start)
    said: dict[str, list[SparkVersion]] = {}
    for version, found in overview.elsewhere.items():
        if version[:2] not in overview.readers.versions:
            continue
        there = _say(overview, found)
        # Where only the words of the error differ, there is nothing to say twice.
        answer = there[:1] if isinstance(found, Refuses) else there
        other = next((sentence for sentence in answer if sentence not in here), None)
        if other is not None:
            said.setdefault(other, []).append(version)
    return [f"On {versions(found)}: {sentence}" for sentence, found in said.items()]
