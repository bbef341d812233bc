"""What the next start will do, in sentences; the first one is the answer."""

from __future__ import annotations

from holdfast.cli.wording import batches, count, describe_range, position, source_kind, versions
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


def say_next_start(overview: Overview) -> list[str]:
    """Say what the next start will do."""
    return [*_say(overview, overview.next_start), *_say_elsewhere(overview)]


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
            return [f"{first}: {because}.", f"Its error will say: {error}", f"See {code.shown}."]
        case Unknown(because=because):
            return [f"What the next start does is not known: {because}."]


def _say_resumes(overview: Overview, found: Resumes) -> list[str]:
    sources = overview.progress.sources
    where = "; ".join(f"{source_kind(each.end)}, {position(each.end)}" for each in sources)
    said = [
        f"Batch {found.batch_id - 1} is done: the next start begins batch {found.batch_id} "
        f"where it ended ({where or 'no source'}){_if_stateless(found)}."
    ]
    return [*said, *_say_more(found)]


def _say_runs_again(overview: Overview, found: RunsAgain) -> list[str]:
    batch = found.batch_id
    if found.then is not None and batch in overview.checkpoint.commits:
        state = f"offsets end at batch {batch}, which is committed, and later ones are too"
        return [
            f"The next start writes batch {batch} to the sink again, and then fails: {found.then}",
            f"Offset entries were deleted: {state}. It is the same at every start.",
        ]
    ranges = "; ".join(map(describe_range, overview.progress.sources)) or "no source"
    said = [
        f"Batch {batch} is pending: the next start runs it again, same range ({ranges})"
        f"{_if_stateless(found)}.",
        f"A sink that does not recognise batch {batch} will hold those records twice.",
    ]
    if found.passed_over:
        verb = "is" if len(found.passed_over) == 1 else "are"
        said.append(
            f"{count(len(found.passed_over), 'batch')} ({batches(found.passed_over)}) without a "
            f"commit entry {verb} not run again: "
            "what had not reached the sink is lost."
        )
    return [*said, *_say_more(found)]


def _say_fresh(overview: Overview, found: StartsFresh) -> list[str]:
    id_ = "a new query id" if found.new_query_id else "the query id that is there"
    where = (
        "what the source keeps in sources/"
        if overview.checkpoint.sources
        else "the source's options"
    )
    said = [f"The next start begins with batch 0 and {id_}; {where} decide where it begins."]
    if overview.checkpoint.directories:
        said.append("What an earlier run wrote to the sink, it may write again.")
    return said


def _say_rereads(rereads: tuple[Reread, ...]) -> list[str]:
    return [
        f"Source {each.source} has lost its offset: it is read again "
        + ("from its beginning." if each.after is None else f"from the end of batch {each.after}.")
        for each in rereads
    ]


def _if_stateless(found: Resumes | RunsAgain) -> str:
    return "" if found.unless is None else ", if the query keeps no state"


def _say_more(found: Resumes | RunsAgain) -> list[str]:
    said = _say_rereads(found.rereads)
    if found.then is not None:
        said.append(f"Then it fails, at every start, with: {found.then}")
    if found.unless is not None:
        said.append(f"Unknown: Spark will refuse to start if {found.unless}.")
    return said


def _say_elsewhere(overview: Overview) -> list[str]:
    """Say what versions that do something else would do, each answer once."""
    said: dict[str, list[tuple[int, int]]] = {}
    for version, found in overview.elsewhere.items():
        if version in overview.readers.versions:
            said.setdefault(_say(overview, found)[0], []).append(version)
    # Only the words of the error may differ, which is nothing to say twice.
    said.pop(_say(overview, overview.next_start)[0], None)
    return [f"On {versions(found)}: {sentence}" for sentence, found in said.items()]
