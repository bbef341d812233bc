"""What audit says of our samples and examples, against what a person said before."""

from __future__ import annotations

import tomllib

from benchmarks.audit_quality import JUDGED, SAMPLES, figures, judge_samples

RIGHT_BUT_FOR = {
    # The program deletes an offset file itself: neither lint nor audit follows what it does.
    "tests/unit/lint/samples/newest_offset_deleted.py:19",
}


def test_sinks_and_restarts_are_as_they_were_judged() -> None:
    judged = judge_samples()
    assert [each.place for each in judged if not each.is_right] == []
    assert {each.place for each in judged if not each.is_effect_right} == RIGHT_BUT_FOR
    assert figures(judged) == ("62 queries, 62 answered, 62 right: precision 100%, recall 100%")


def test_every_sample_that_starts_a_query_was_judged() -> None:
    rows = tomllib.loads((JUDGED / "judged_samples.toml").read_text())["query"]
    files = {row["file"] for row in rows if row["file"].startswith("tests/")}
    starting = [path for path in SAMPLES.rglob("*.py") if "writeStream" in path.read_text()]
    assert len(files) == len(starting)


def test_at_least_sixty_public_queries_were_judged() -> None:
    rows = tomllib.loads((JUDGED / "judged_public.toml").read_text())["query"]
    assert sum(row["recognises"] != "absent" for row in rows) >= 60
    assert {row["recognises"] for row in rows} == {"yes", "no", "depends", "not-kept", "absent"}
