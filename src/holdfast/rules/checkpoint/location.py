"""Where the checkpoint lies, and what lies in it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.state.chain import BrokenChain
from holdfast.evidence.case import Case
from holdfast.evidence.obstacles import find_obstacles
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.entry_figures import MINUTE_MS, span_text, with_settings
from holdfast.rules.place_names import changing_part
from holdfast.rules.predicted import spark_will
from holdfast.rules.rule import Finding, rule
from holdfast.sources.registry import parse_offset


@rule("HF110", Severity.RISK, Confidence.LIKELY, Effect.LOSES, Goal.RESUME)
def location_not_stable(case: Case) -> Iterator[Finding]:
    """The location of the checkpoint changes from run to run."""
    place = case.checkpoint.location
    part = changing_part(place.path)
    if case.overview is None or part is None:
        return
    yield location_not_stable.find(
        what=(
            f"The location ends in {part} ({place.name}). If the next run has another, Spark will "
            "begin a new checkpoint: it skips what arrived in between, or reads everything again."
        ),
        how="Give the query one fixed checkpointLocation, and continue the newest one.",
        follows_from=(str(place),),
    )


_TEMPORARY = (
    *("/tmp/", "/var/tmp/", "/private/tmp/", "/private/var/folders/", "/dev/shm/"),  # noqa: S108 - named
    *("/local_disk0/", "/databricks/driver/", "/dbfs/tmp/", "/mnt/tmp/", "/content/"),
)


@rule("HF111", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def location_can_vanish(case: Case) -> Iterator[Finding]:
    """The checkpoint is in a temporary directory or on the disk of a cluster."""
    place = case.checkpoint.location
    if case.overview is None or not place.is_local:
        return
    for directory in _TEMPORARY:
        if place.path.startswith(directory):
            yield location_can_vanish.find(
                what=(
                    f"The checkpoint is in {directory.rstrip('/')}. If that directory is emptied, "
                    "Spark will silently begin with batch 0."
                ),
                how="Move the checkpoint to durable storage while no driver runs.",
                follows_from=(str(place),),
            )


_LEAST_OLDEST_FILES_GONE = 2


@rule("HF112", Severity.RISK, Confidence.LIKELY, Effect.FAILS, Goal.RESUME)
def oldest_files_gone(case: Case) -> Iterator[Finding]:
    """The files that are written once are gone: a lifecycle rule deletes by age."""
    if case.overview is None or not case.checkpoint.offsets:
        return
    gone = [*_gone_of_query(case), *_gone_of_state(case)]
    if len(gone) < _LEAST_OLDEST_FILES_GONE:
        return
    yield oldest_files_gone.find(
        what=(
            f"{' and '.join(gone)} are gone, which Spark writes once, and newer files are there. A "
            "lifecycle rule deletes by age: Spark will fail, or begin with batch 0, when it has "
            "deleted enough."
        ),
        how="Exclude the checkpoint from lifecycle rules, and restore the files.",
        follows_from=tuple(gone),
    )


def _gone_of_query(case: Case) -> Iterator[str]:
    checkpoint = case.checkpoint
    if checkpoint.metadata is None:
        yield "metadata"
    entry = checkpoint.offsets[max(checkpoint.offsets)]
    began = {log.name for log in checkpoint.sources if log.began is not None}
    for each in entry.offsets if isinstance(entry, OffsetEntry) else ():
        if parse_offset(each.text or "").kind.keeps_beginning and each.source not in began:
            yield f"sources/{each.source}/0"


def _gone_of_state(case: Case) -> Iterator[str]:
    writers = case.overview.writers.versions if case.overview else ()
    has_metadata = bool(writers) and min(writers) >= (4, 0)
    for operator in case.checkpoint.state:
        home = f"state/{operator.operator_id}"
        if not operator.metadata and operator.stores and has_metadata:
            yield f"{home}/_metadata/metadata"
        if not operator.schemas and operator.stores:
            yield f"{home}/0/_metadata/schema"


@rule("HF114", Severity.RISK, Confidence.LIKELY, Effect.FAILS, Goal.RESUME)
def copied_while_running(case: Case) -> Iterator[Finding]:
    """The state is older than the logs: parts of the checkpoint are of other ages."""
    for operator in case.overview.state if case.overview else ():
        broken = [
            (max((file.version for file in each.store.files), default=0), each.store.directory)
            for each in operator.stores
            if isinstance(each.chain, BrokenChain)
        ]
        newest = max(broken, default=None)
        if newest is None or newest[0] > operator.version - 2:
            continue
        yield copied_while_running.find(
            what=(
                f"Spark will fail in batch {operator.version}: the logs lead to it, but the state "
                f"in {newest[1]} ends at version {newest[0]}. The checkpoint was copied while the "
                "query ran, or restored from parts of different age."
            ),
            how="Copy the checkpoint again while no driver runs, or restore all parts at one age.",
            follows_from=tuple(directory for _, directory in broken[:20]),
        )


_SHOWN = 3


@rule("HF118", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def unexpected_files(case: Case) -> Iterator[Finding]:
    """Files are in the checkpoint that Spark does not write there."""
    stops = {each.path for each in find_obstacles(case.checkpoint)}
    found = tuple(each for each in case.checkpoint.foreign if each not in stops)
    if case.overview is None or not found:
        return
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    yield unexpected_files.find(
        what=f"Spark does not write {', '.join(found[:_SHOWN])}{more}, and will ignore it.",
        how="Find out who writes into the checkpoint.",
        follows_from=found[:20],
    )


_LEAST_CHECKPOINT_COPIED = 5


@rule("HF119", Severity.NOTE, Confidence.LIKELY, Effect.NONE, Goal.NONE)
def checkpoint_copied(case: Case) -> Iterator[Finding]:
    """The checkpoint was copied: its files are all of one moment."""
    written = sorted(at for path, at in case.times.items() if path.startswith("offsets/"))
    began = [each.batch_timestamp_ms for _, each in with_settings(case.checkpoint)]
    if (
        case.overview is None
        or len(written) < _LEAST_CHECKPOINT_COPIED
        or len(began) < _LEAST_CHECKPOINT_COPIED
    ):
        return
    span = max(began) - min(began)
    if written[-1] - written[0] > timedelta(minutes=1) or span < 10 * MINUTE_MS:
        return
    yield checkpoint_copied.find(
        what=(
            f"The checkpoint was copied at {written[-1]:%Y-%m-%d %H:%M} UTC: its batches span "
            f"{span_text(span)}, and its files were written within a minute. "
            f"{spark_will(case)} continue from the age of the copy."
        ),
        how="Check that the original is not started any more, and that the sink has the same age.",
        follows_from=("offsets/",),
    )
