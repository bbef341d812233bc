"""What Spark's event log tells of the nine facts, where the checkpoint does not."""

from __future__ import annotations

from collections import Counter

from holdfast.evidence.case import Case
from holdfast.formats.event_log.history import EventLogHistory, QueryRun, RunEnding
from holdfast.judgement.fact import Found
from holdfast.wording import count

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "RocksDBStateStoreProvider"
_COUNTED = {
    RunEnding.ENDED: "ended without an exception",
    RunEnding.FAILED: "failed",
    RunEnding.NOT_IN_LOG: "without an end in the log",
}
_NO_END = "its end is not in the log: killed, or running"


def history_of(case: Case) -> EventLogHistory | None:
    """Return the history from the event log, if it was read and has this query."""
    found = case.event_log
    return found if isinstance(found, EventLogHistory) and found.runs else None


def where_in(run: QueryRun) -> str:
    """Say where a fact of a run was read."""
    return f"event log, {run.application}"


def query_id_in_log(case: Case, name: str) -> Found | None:
    """Return the id of the query whose plans name this checkpoint."""
    history = history_of(case)
    run = None if history is None else history.newest
    return None if run is None else Found(name, run.query_id, f"{where_in(run)}, by its plan")


def confirm_offsets(case: Case) -> str:
    """Return what the event log adds to where the offsets were read; empty without one."""
    history = history_of(case)
    if history is None:
        return ""
    from holdfast.evidence.event_log import compare_offsets  # noqa: PLC0415 - rarely asked for

    found = compare_offsets(history, case.checkpoint)
    compared = len(found.equal) + len(found.different)
    if not compared:
        return ""
    return f"; the event log has the same in {len(found.equal)} of {count(compared, 'batch')}"


def offsets_in_log(case: Case, name: str) -> Found | None:
    """Return how far the sources were read by the newest batch in the log."""
    history = history_of(case)
    batch = None if history is None else history.newest_batch
    if history is None or batch is None:
        return None
    shown = "; ".join(
        f"{number} {each.description} up to {each.end}" for number, each in enumerate(batch.sources)
    )
    return Found(name, shown, f"event log, batch {batch.batch_id}")


def sink_in_log(case: Case, name: str) -> Found | None:
    """Return the sink as Spark describes it."""
    run = _newest_with(case, "sink")
    if run is None or run.sink is None:
        return None
    return Found(name, f"{run.sink} (batch {run.last_batch})", where_in(run))


def output_mode_in_log(case: Case) -> tuple[str, str] | None:
    """Return the output mode and where it was read; None where the log does not say it."""
    run = _newest_with(case, "output_mode")
    if run is not None and run.output_mode is not None:
        return run.output_mode, where_in(run)
    run = _newest_with(case, "sink")
    if run is not None and (run.sink or "").startswith("FileSink["):
        return "append", f"{where_in(run)}: Spark's file sink takes no other mode"
    return None


def operators_in_log(case: Case, name: str) -> Found | None:
    """Return the stateful operators of the newest batch."""
    names, where = operator_names_in_log(case)
    return None if names is None else Found(name, ", ".join(names) or "none", where)


def operator_names_in_log(case: Case) -> tuple[tuple[str, ...] | None, str]:
    """Return the names of the stateful operators, and where they were read; None without them."""
    run = _newest_with(case, "operators")
    if run is None or run.operators is None:
        return None, ""
    return tuple(run.operators), where_in(run)


def provider_in_log(case: Case, name: str) -> Found | None:
    """Return the state store provider: as it was set, or by the figures of its state."""
    history = history_of(case)
    run = None if history is None else history.newest
    if run is None:
        return None
    if provider := run.settings.get(PROVIDER):
        return Found(name, provider.rpartition(".")[2], where_in(run))
    return Found(name, _ROCKSDB, f"{where_in(run)}, metrics") if run.uses_rocksdb else None


def spark_in_log(case: Case, name: str) -> Found | None:
    """Return the version of Spark that ran the query last."""
    run = _newest_with(case, "spark")
    return None if run is None else Found(name, run.spark, where_in(run))


def restarts_in_log(case: Case, name: str) -> Found | None:
    """Return how often the query was started and how each run ended."""
    history = history_of(case)
    if history is None or history.newest is None:
        return None
    from holdfast.evidence.event_log import say_incomplete  # noqa: PLC0415 - rarely asked for

    ends = Counter(each.ending for each in history.runs)
    said = ", ".join(f"{ends[each]} {_COUNTED[each]}" for each in RunEnding if ends[each])
    older = f", {history.older_runs:,} older not kept" if history.older_runs else ""
    newest = history.newest
    began = newest.began_at or "before the log begins"
    value = f"{count(history.count, 'start')}: {said}{older}; the newest began {began}"
    incomplete = say_incomplete(history, case.newest_committed)
    more = "" if not incomplete else f"; incomplete: {incomplete[0]}"
    return Found(name, f"{value}, {say_ending(newest)}", f"event log {history.location}{more}")


def say_ending(run: QueryRun) -> str:
    """Say how a run ended."""
    if run.ending is RunEnding.FAILED:
        return f"failed with {run.error_line}"
    return "ended without an exception" if run.ending is RunEnding.ENDED else _NO_END


def _newest_with(case: Case, field: str) -> QueryRun | None:
    """Return the newest run of which something is known."""
    history = history_of(case)
    runs = () if history is None else reversed(history.runs)
    return next((each for each in runs if getattr(each, field) is not None), None)
