"""`holdfast audit`: what it prints, in every format, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from holdfast.cli.audit_formats import FORMATS
from holdfast.cli.audit_json import AuditJson
from holdfast.cli.main import run
from tests.house.repository import ROOT

GUIDE = (ROOT / "docs/guides/audit.md").read_text()
SAFE = """\
df = spark.readStream.format("kafka").option("subscribe", "orders").load()
df.writeStream.format("delta").option("checkpointLocation", "/srv/cp").start("/lake/orders")
"""
KAFKA = SAFE.replace('"delta"', '"kafka"')
UNKNOWN = SAFE.replace('format("delta")', "foreachBatch(imported)")

Audit = Callable[..., tuple[int, str]]


@pytest.fixture
def audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Audit:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as exited:
            run(["audit", *arguments])
        assert isinstance(exited.value.code, int)
        return exited.value.code, capsys.readouterr().out

    return call


def test_it_prints_what_the_guide_shows(audit: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    code, out = audit("examples/plain_jobs")
    assert code == 1
    assert f"$ holdfast audit examples/plain_jobs\n{out}" in GUIDE


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (SAFE, (0, "0 of 1 query would lose or duplicate rows after a kill.")),
        (KAFKA, (1, "1 of 1 query would duplicate rows after a kill.")),
        (UNKNOWN, (3, "0 of 1 query would duplicate rows after a kill, 1 not known.")),
        ("x = 1\n", (0, "No streaming query was found in 1 files.")),
        ("df.writeStream.start(", (3, "No streaming query was found in 1 files.")),
    ],
)
def test_the_first_line_is_the_answer(audit: Audit, text: str, answer: tuple[int, str]) -> None:
    Path("job.py").write_text(text)
    exit_code, out = audit("job.py")
    assert (exit_code, out.splitlines()[0]) == answer


def test_what_is_not_understood_and_not_found_is_listed(audit: Audit) -> None:
    Path("job.py").write_text(UNKNOWN)
    Path("run.sh").write_text("spark-submit --class Main app.jar\nspark-submit gone.py\n")
    _, out = audit(".")
    assert "run.sh:1: spark-submit runs app.jar, which is not Python." in out
    assert "spark-submit runs gone.py, which is not among the audited files" in out
    assert "recognises    not-known: imported is not in this file. (line 2)" in out


def test_checkpoints_are_joined_in_every_format(audit: Audit) -> None:
    Path("job.py").write_text(SAFE.replace("/srv/cp", "cps/orders"))
    for name in ("orders", "old"):
        Path("cps", name, "offsets").mkdir(parents=True)
    for form in FORMATS:
        _, out = audit("job.py", "--checkpoints", "cps", "--format", form)
        if form != "sarif":
            assert "cps/old" in out
    _, out = audit("job.py", "--checkpoints", "cps")
    flat = " ".join(out.split())
    assert "/cps/old no query in the code names it" in flat
    assert "/cps/orders job.py:2" in flat


def test_json_is_of_its_form(audit: Audit) -> None:
    Path("job.py").write_text(KAFKA)
    _, out = audit("job.py", "--format", "json")
    found = msgspec.json.decode(out.encode(), type=AuditJson)
    (query,) = found.queries
    assert (found.verdict, query.effects, query.line) == ("repeats-data", ("repeats",), 2)
    assert found.checkpoints is None


def test_markdown_is_a_table(audit: Audit) -> None:
    Path("job.py").write_text(KAFKA)
    _, out = audit("job.py", "--format", "markdown")
    assert out.startswith("**1 of 1 query would duplicate rows after a kill.**\n\n| Query |")


def test_sarif_has_a_result_for_every_query_that_is_not_safe(audit: Audit) -> None:
    Path("a.py").write_text(KAFKA)
    Path("b.py").write_text(UNKNOWN)
    Path("c.py").write_text(SAFE.replace("/srv/cp", "/tmp/cp"))
    _, out = audit(".", "--format", "sarif")
    (ran,) = json.loads(out)["runs"]
    assert [each["ruleId"] for each in ran["results"]] == [
        *("audit-restart", "audit-not-known", "HF802", "audit-restart"),
    ]
    known = {each["id"] for each in ran["tool"]["driver"]["rules"]}
    assert {each["ruleId"] for each in ran["results"]} <= known


def test_the_answer_can_go_to_a_file(audit: Audit) -> None:
    Path("job.py").write_text(KAFKA)
    assert audit("job.py", "--format", "json", "-o", "audit.json") == (1, "")
    assert json.loads(Path("audit.json").read_text())["files"] == 1


def test_credentials_are_not_shown(audit: Audit) -> None:
    secret = SAFE.replace("/srv/cp", "s3://key:s3cr3t@lake/cp")
    Path("job.py").write_text(secret.replace('"delta"', '"kafka"'))
    for form in FORMATS:
        assert "s3cr3t" not in audit("job.py", "--format", form)[1]
