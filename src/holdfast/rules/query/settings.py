"""Settings and versions that changed since the last run."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.offsets import PARTITIONS
from holdfast.evidence.case import Case
from holdfast.evidence.query_to_start import THE_LAST_CONTRACT
from holdfast.evidence.session_settings import UNPINNED
from holdfast.evidence.versions import find_readers
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.changed_query import both_contracts, ignored_settings, listed
from holdfast.rules.rule import Finding, rule
from holdfast.spark_versions import version_text


@rule("HF514", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def shuffle_partitions_ignored(case: Case) -> Iterator[Finding]:
    """The session has another number of shuffle partitions than the state."""
    ignored = ignored_settings(case).get(PARTITIONS)
    if ignored is None or case.query is None or not case.query.now.operators:
        return
    here, pinned = ignored
    yield shuffle_partitions_ignored.find(
        what=(
            f"The session has {here} shuffle partitions and the state has {pinned}. Spark "
            f"continues with {pinned}."
        ),
        how=f"Leave it at {pinned}, or reset the stream to begin with {here}.",
        follows_from=(f"offsets/{case.newest_planned}",),
    )


@rule("HF515", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def pinned_setting_ignored(case: Case) -> Iterator[Finding]:
    """The session has a setting that Spark replaces by the checkpoint's."""
    if case.query is None or not case.query.now.operators:
        return
    for name, (here, pinned) in ignored_settings(case).items():
        if name == PARTITIONS:
            continue
        yield pinned_setting_ignored.find(
            what=(
                f"The session has {name}={here}, and the checkpoint {pinned}. Spark continues "
                f"with {pinned}."
            ),
            how="Leave it, or reset the stream to begin with the new value.",
            follows_from=(f"offsets/{case.newest_planned}",),
        )


@rule("HF516", Severity.BLOCKS_RESTART, Confidence.LIKELY, Effect.FAILS, Goal.RESUME)
def spark_too_old(case: Case) -> Iterator[Finding]:
    """This version of Spark cannot read the checkpoint."""
    if case.query is None:
        return
    readers = find_readers(case.checkpoint)
    if not readers.because or case.query.spark[:2] in readers.versions:
        return
    yield spark_too_old.find(
        what=(
            f"Spark {version_text(case.query.spark)} cannot read this checkpoint: "
            f"{readers.because[0]}. It fails at every start."
        ),
        how="Start the query with the version of Spark that wrote the checkpoint, or a newer one.",
        follows_from=readers.because,
    )


_SINCE = 3
"""The version of contracts that has watermarks."""


@rule("HF517", Severity.RISK, Confidence.LIKELY, Effect.LOSES, Goal.BACKFILL)
def watermark_changed(case: Case) -> Iterator[Finding]:
    """The query has another watermark than in its last run."""
    found = both_contracts(case)
    if found is None or found[0].version < _SINCE or not found[1].operators:
        return
    old, new = found[0].watermarks, found[1].watermarks
    if sorted(old) == sorted(new):
        return
    yield watermark_changed.find(
        what=(
            f"The watermark was {listed(old)} and is {listed(new)} now. Spark keeps the watermark "
            "that it has reached: other rows than before count as late, and windows close at "
            "another time."
        ),
        how="If rows of that time matter, load them with a batch job.",
        follows_from=(THE_LAST_CONTRACT,),
    )


@rule("HF518", Severity.RISK, Confidence.LIKELY, Effect.ALTERS, Goal.RESUME)
def session_setting_changed(case: Case) -> Iterator[Finding]:
    """A setting that changes results differs, and Spark does not pin it."""
    found = both_contracts(case)
    if found is None:
        return
    before, now = found[0].settings, found[1].settings
    for name, does in UNPINNED.items():
        if name not in before or name not in now or before[name] == now[name]:
            continue
        yield session_setting_changed.find(
            what=(
                f"{name} was {before[name]} in the last run and is {now[name]} now. Spark does "
                f"not pin it: {does}."
            ),
            how=f"Set {name}={before[name]} for this stream.",
            follows_from=(THE_LAST_CONTRACT,),
        )


@rule("HF519", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def spark_version_changed(case: Case) -> Iterator[Finding]:
    """Another version of Spark starts the query."""
    found = both_contracts(case)
    if found is None or not found[0].spark:
        return
    before, now = (each.spark.split(".")[:2] for each in found)
    if before == now:
        return
    yield spark_version_changed.find(
        what=(
            f"The last run was on Spark {found[0].spark}, and this is Spark {found[1].spark}. From "
            "the next batch on, the checkpoint has the formats of the new version."
        ),
        how="Keep a copy of the checkpoint before the first start: it is the way back.",
        follows_from=(THE_LAST_CONTRACT,),
    )
