"""`holdfast audit` as text: the answer, a row for each query, and what to change. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.audit.model import Audit, AuditedQuery
from holdfast.audit.repository import unlinked
from holdfast.cli.sarif import say
from holdfast.cli.table import columns
from holdfast.grades import Confidence, Effect
from holdfast.lint.query_in_code import Written

NOT_KNOWN = "not known"
_DOES = {
    Effect.REPEATS: "would duplicate rows",
    Effect.LOSES: "would lose rows",
    Effect.ALTERS: "would alter rows",
    Effect.FAILS: "would not start",
}
_MOST_SHOWN = 60


def say_answer(found: Audit) -> str:
    """Return the first line: how many queries a kill harms."""
    total = len(found.queries)
    if not total:
        return f"No streaming query was found in {found.files:,} files."
    of_all = f"of {total:,} {'query' if total == 1 else 'queries'}"
    said = [
        f"{len(own):,} {does}"
        for effect, does in _DOES.items()
        if (own := found.having(effect)) and effect is not Effect.REPEATS
    ]
    repeats = len(found.having(Effect.REPEATS))
    if not repeats and not said and not found.not_known:
        return f"0 {of_all} would lose or duplicate rows after a kill."
    rest = "".join(f", {each}" for each in said)
    unknown = f", {len(found.not_known):,} not known" if found.not_known else ""
    return f"{repeats:,} {of_all} would duplicate rows after a kill{rest}{unknown}."


def say_effects(query: AuditedQuery) -> str:
    """Return what a restart does in a word or two, with a question mark if it is not certain."""
    if not query.effects:
        return NOT_KNOWN
    words = {Effect.REPEATS: "duplicates", Effect.NONE: "nothing"}
    said = ", ".join(words.get(each, each.value) for each in query.effects)
    return f"{said} (likely)" if query.confidence is Confidence.LIKELY else said


def render_text(found: Audit) -> Iterator[str]:
    """Yield the lines to print."""
    yield say_answer(found)
    if found.queries:
        yield ""
        rows: list[tuple[str, ...]] = [
            ("QUERY", "SINK", "RECOGNISES A BATCH", "AFTER A KILL", "RULES")
        ]
        rows += [_row(each) for each in found.queries]
        yield from (say(line) for line in columns(rows))
    for query in found.queries:
        if not query.is_safe or query.rules:
            yield ""
            yield from (say(line) for line in _block(query))
    yield from _checkpoints(found)
    yield from _jobs(found)
    yield from _listed("Not understood:", [f"{n.place}: {n.why}" for n in found.not_understood])


def _row(query: AuditedQuery) -> tuple[str, ...]:
    codes = ", ".join(dict.fromkeys(each.code for each in query.rules))
    place = f"{query.place} {query.name}" if query.name else query.place
    sink = _cut(query.sink.value or NOT_KNOWN)
    return place, sink, query.recognises.value, say_effects(query), codes or "-"


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MOST_SHOWN else f"{flat[: _MOST_SHOWN - 1]}…"


def _block(query: AuditedQuery) -> Iterator[str]:
    named = f" {query.name}" if query.name else ""
    yield f"{query.place}{named}"
    facts = {
        "source": query.source,
        "sink": query.sink,
        "output mode": query.output_mode,
        "trigger": query.trigger,
        "checkpoint": query.checkpoint,
    }
    rows = [(f"  {name}", _value(query, fact)) for name, fact in facts.items()]
    why = f"{query.recognises.value}: {query.why} ({_at(query, query.why_place)})"
    rows.append(("  recognises", why))
    rows.append(("  after a kill", query.after_kill))
    rows += [("  rule", f"{r.code} {r.name} ({_at(query, r.place)})") for r in query.rules]
    rows += [("  change", each) for each in query.changes]
    rows += [("  job", each) for each in query.jobs]
    yield from columns(rows)


def _value(query: AuditedQuery, fact: Written) -> str:
    shown = NOT_KNOWN if fact.value is None else " ".join(fact.value.split())
    return f"{shown} ({_at(query, fact.place)})"


def _at(query: AuditedQuery, place: str) -> str:
    """Return a place in the query's own file without the name of the file."""
    within = place.removeprefix(f"{query.file}:")
    return f"line {within}" if within.isdecimal() else within


def _checkpoints(found: Audit) -> Iterator[str]:
    if found.checkpoints is None:
        return
    rows = []
    for each in found.checkpoints:
        whose = ", ".join(each.queries) or "no query in the code names it"
        rows.append((f"  {each.location}", f"not read: {each.unread}" if each.unread else whose))
    yield from ("", f"{len(found.checkpoints):,} checkpoints exist:")
    yield from (say(line) for line in columns(rows))
    without = [q.place for q in found.queries if not q.checkpoints and q.recognises != "not-kept"]
    yield from _listed("Queries for which no checkpoint was found:", without)


def _jobs(found: Audit) -> Iterator[str]:
    named = [
        f"{job.place}: {job.kind} runs {job.program}, which is not among the audited files"
        for job in unlinked(found.jobs)
    ]
    yield from _listed("Jobs whose program was not found:", named)


def _listed(heading: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield from ("", heading, *(say(f"  {each}") for each in lines))
