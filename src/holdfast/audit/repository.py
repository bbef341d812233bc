"""Audit a repository: its programs, its job definitions, and what several files show together."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from msgspec.structs import replace

from holdfast.audit.existing import join_checkpoints
from holdfast.audit.jobs import JOB_FILES, checkpoint_of, file_of, read_jobs
from holdfast.audit.model import Audit, AuditedQuery, Job, NotUnderstood
from holdfast.audit.programs import FileAudit, applied_rule, audit_file, declared_in_sql
from holdfast.audit.restart import SHARED, changes_for, fault_of
from holdfast.confinement import is_confined, permits
from holdfast.grades import Effect
from holdfast.lint.catalogue import LINT_RULES
from holdfast.lint.check import FileReport, check_together
from holdfast.lint.files import AT_ONCE, MANY, OUTSIDE, SUFFIXES, find_files
from holdfast.lint.modules import modules_beside
from holdfast.lint.rule import CheckpointFault, QueryUse
from holdfast.lint.source import LARGEST_BYTES

_OWN_CHECKPOINT = changes_for(
    rule.code for rule in LINT_RULES if rule.fault is CheckpointFault.SHARED
)
_OTHER_LANGUAGES = (".scala", ".java", ".kt", ".R", ".r")


def audit_paths(paths: tuple[str, ...], *, checkpoints: str | None = None) -> Audit:
    """Audit every file below the paths; many of them on all cores.

    Args:
        paths: Files, and directories that are searched.
        checkpoints: A location below which checkpoints are looked for.

    Raises:
        LocationError: The location of the checkpoints is not one.
        ReadError: It cannot be listed.
    """
    files = list(find_files(paths, (*SUFFIXES, *JOB_FILES, *_OTHER_LANGUAGES, ".sql")))
    if len(files) < MANY or is_confined():  # another process would not know what is permitted
        looks = [_look(path) for path in files]
    else:
        with ProcessPoolExecutor() as pool:
            looks = list(pool.map(_look, files, chunksize=AT_ONCE))
    audits = _together([each for each, _ in looks if each is not None])
    jobs = _linked([each for _, own in looks for each in own if isinstance(each, Job)], audits)
    left = (each for _, own in looks for each in own if isinstance(each, NotUnderstood))
    audit = Audit(
        files=len(files),
        queries=tuple(_with_jobs(query, jobs) for each in audits for query in each.queries),
        jobs=jobs,
        not_understood=(*(note for each in audits for note in each.not_understood), *left),
    )
    if checkpoints is None:
        return audit
    given: dict[str, tuple[str, ...]] = {}
    for job in jobs:
        if job.file and (location := checkpoint_of(job)):
            given[job.file] = (*given.get(job.file, ()), location)
    return join_checkpoints(audit, checkpoints, given=given)


def _look(path: Path) -> tuple[FileAudit | None, list[Job | NotUnderstood]]:
    """Read one file; one that cannot be read is named."""
    if not permits(path):
        return None, [NotUnderstood(place=str(path), why=OUTSIDE)]
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        why = error.strerror or type(error).__name__
        return None, [NotUnderstood(place=str(path), why=why)]
    if path.name.endswith(_OTHER_LANGUAGES):
        why = f"It has writeStream and is {path.suffix[1:]}: only Python is read."
        return None, [NotUnderstood(place=str(path), why=why)] if b"writeStream" in content else []
    if path.name.endswith(".sql"):
        return None, [*declared_in_sql(str(path), content)]
    audit = None
    if path.name.endswith(SUFFIXES) or not path.name.endswith(JOB_FILES):
        audit = audit_file(str(path), content, find_constants=modules_beside(path))
    return audit, [] if path.name.endswith(".ipynb") else read_jobs(str(path), content)


def _together(audits: list[FileAudit]) -> list[FileAudit]:
    """Add what only several queries show together: that they share a checkpoint."""
    alone = [each.report for each in audits]
    reports = check_together(alone)
    shared = _shared_places(reports)
    return [_with_shared(*each, shared) for each in zip(audits, reports, strict=True)]


def _shared_places(reports: list[FileReport]) -> set[tuple[str, int]]:
    """Return file and line of every query whose checkpoint another one uses."""
    found = {
        (report.path, each.finding.position.line)
        for report in reports
        for each in report.findings
        if fault_of(each.finding.code) is CheckpointFault.SHARED
    }
    uses: dict[str, list[QueryUse]] = {}
    for use in (use for report in reports for use in report.uses):
        uses.setdefault(use.place, []).append(use)
    groups = (own for own in uses.values() if any((u.path, u.at[0]) in found for u in own))
    return found | {
        (use.path, use.at[0])
        for own in groups
        for use in own
        if any(use.purpose.differs(other.purpose) for other in own)
    }


def _with_shared(audit: FileAudit, report: FileReport, shared: set[tuple[str, int]]) -> FileAudit:
    known = {id(each) for each in audit.report.findings}
    new = [each for each in report.findings if id(each) not in known]
    queries = []
    for query, lines in zip(audit.queries, audit.lines, strict=True):
        own = [each for each in new if each.finding.position.line in lines]
        rules = (*query.rules, *(applied_rule(report.path, each) for each in own))
        is_shared = any((report.path, line) in shared for line in lines)
        queries.append(_as_shared(replace(query, rules=rules)) if is_shared else query)
    return replace(audit, report=report, queries=tuple(queries))


def _as_shared(query: AuditedQuery) -> AuditedQuery:
    """Return a query whose checkpoint another one uses; what is worse stays."""
    if query.effects not in ((Effect.NONE,), (Effect.REPEATS,), ()):
        return query
    effects = tuple(each for each in Effect if each in {*query.effects, *SHARED.effects})
    return replace(
        query,
        effects=tuple(each for each in effects if each is not Effect.NONE),
        confidence=SHARED.confidence,
        after_kill=SHARED.says,
        changes=tuple(dict.fromkeys((*_OWN_CHECKPOINT, *query.changes))),
    )


def _linked(jobs: list[Job], audits: list[FileAudit]) -> tuple[Job, ...]:
    files: dict[str, list[str]] = {}
    for each in audits:
        files.setdefault(Path(each.report.path).name, []).append(each.report.path)
    return tuple(replace(job, file=file_of(job, files)) for job in jobs)


def _with_jobs(query: AuditedQuery, jobs: tuple[Job, ...]) -> AuditedQuery:
    own = tuple(job.place for job in jobs if job.file == query.file)
    return replace(query, jobs=own) if own else query


def unlinked(jobs: tuple[Job, ...]) -> Iterator[Job]:
    """Yield the jobs whose program is not among the audited files."""
    return (job for job in jobs if job.file is None)
