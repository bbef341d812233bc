"""How often `holdfast audit` is right about a sink, against queries that were judged by hand.

    python -m benchmarks.audit_quality             our samples and examples
    python -m benchmarks.audit_quality DIRECTORY   public programs, in directories `owner+name`

The judgements are data of the tests, written before the first run. Precision: of the queries that
got an answer, how many got the right one. Recall: of all queries, how many got the right one;
*not known* is no answer. Queries whose output is only looked at are counted apart.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import holdfast as hf
from holdfast.audit.model import AuditedQuery
from holdfast.grades import Recognises

ROOT = Path(__file__).parents[1]
JUDGED = ROOT / "tests/unit/audit"
SAMPLES = ROOT / "tests/unit/lint/samples"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One query as a person judged it, and as audit did."""

    place: str
    recognises: str
    after: tuple[str, ...] | None
    found: AuditedQuery | None

    @property
    def answer(self) -> str:
        """What audit says; `absent` if it lists no such query."""
        return "absent" if self.found is None else self.found.recognises.value

    @property
    def is_answered(self) -> bool:
        """Whether audit gives an answer."""
        return self.answer != Recognises.NOT_KNOWN

    @property
    def is_right(self) -> bool:
        """Whether audit says of the sink what the person says."""
        return self.answer == self.recognises

    @property
    def is_effect_right(self) -> bool:
        """Whether audit says the same of a restart after a kill."""
        effects = () if self.found is None else tuple(each.value for each in self.found.effects)
        return self.after is not None and set(effects) == set(self.after)


def judge_samples() -> list[Judged]:
    """Compare our samples, each as a repository of its own, and our examples."""
    rows = tomllib.loads((JUDGED / "judged_samples.toml").read_text())["query"]
    places = {}
    for row in rows:
        path = ROOT / row["file"]
        is_alone = path.parent == SAMPLES
        places[path] = path if is_alone or "examples" in path.parts else path.parent
    found = {place: hf.audit_code(place).queries for place in set(places.values())}
    queries = [each for own in found.values() for each in own]
    return [_compare(row, str(ROOT / row["file"]), queries) for row in rows]


def judge_public(directory: Path) -> list[Judged]:
    """Compare the public programs below a directory; each repository alone."""
    rows = tomllib.loads((JUDGED / "judged_public.toml").read_text())["query"]
    homes = {row["repository"]: directory / row["repository"].replace("/", "+") for row in rows}
    found = {name: list(hf.audit_code(home).queries) for name, home in homes.items()}
    return [
        _compare(row, str(homes[row["repository"]] / row["file"]), found[row["repository"]])
        for row in rows
    ]


def _compare(row: dict[str, object], path: str, queries: list[AuditedQuery]) -> Judged:
    """Take the first query that is written at the line; several stand in their order."""
    same = (n for n, q in enumerate(queries) if (q.file, q.written_line) == (path, row["line"]))
    number = next(same, None)
    after = row.get("after")
    return Judged(
        place=f"{row['file']}:{row['line']}",
        recognises=str(row["recognises"]),
        after=tuple(map(str, after)) if isinstance(after, list) else None,
        found=None if number is None else queries.pop(number),
    )


def figures(judged: Iterable[Judged]) -> str:
    """Return precision and recall as a line."""
    rows = list(judged)
    answered = [each for each in rows if each.is_answered]
    right = sum(each.is_right for each in answered)
    share = right / len(answered) if answered else 0
    return (
        f"{len(rows)} queries, {len(answered)} answered, {right} right: "
        f"precision {share:.0%}, recall {right / max(len(rows), 1):.0%}"
    )


def count_effects(directory: Path) -> str:
    """Return what a kill does to the queries of all repositories, each audited alone."""
    found = [hf.audit_code(each) for each in sorted(directory.iterdir()) if each.is_dir()]
    queries = [query for each in found for query in each.queries]
    counts = Counter(", ".join(query.effects) or "not known" for query in queries)
    files = len({query.file for query in queries})
    shown = "; ".join(f"{name} {count}" for name, count in counts.most_common())
    return f"all repositories: {len(queries)} queries in {files} files: {shown}"


def main() -> None:
    """Print the figures, and every query on which the two do not agree."""
    judged = judge_public(Path(sys.argv[1])) if len(sys.argv) > 1 else judge_samples()
    if len(sys.argv) > 1:
        print(count_effects(Path(sys.argv[1])))
    kept = [each for each in judged if each.recognises not in {"not-kept", "absent"}]
    print(f"sinks that keep rows: {figures(kept)}")
    for name in ("no", "yes", "depends", "not-kept", "absent"):
        said = [each for each in judged if each.answer == name]
        meant = [each for each in judged if each.recognises == name]
        right = sum(each.is_right for each in meant)
        print(f"  {name}: judged {len(meant)}, answered {len(said)}, of these right {right}")
    if any(each.after for each in judged):
        right = sum(each.is_effect_right for each in judged)
        print(f"after a kill: {right} of {len(judged)} right")
    print("answers:", dict(Counter(each.answer for each in judged)))
    for each in judged:
        if not each.is_right or (each.after and not each.is_effect_right):
            effects = [effect.value for effect in each.found.effects] if each.found else []
            after = f"; after a kill {effects}, judged {list(each.after)}" if each.after else ""
            print(f"{each.place}: {each.answer}, judged {each.recognises}{after}")


if __name__ == "__main__":
    main()
