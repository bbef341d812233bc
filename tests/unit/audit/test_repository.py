"""A repository: files together, jobs with their programs, and checkpoints that exist."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast as hf
from holdfast.audit import repository
from holdfast.grades import Effect

ORDERS = """\
df = spark.readStream.format("kafka").option("subscribe", "orders").load()
df.writeStream.format("delta").option("checkpointLocation", "{cp}").start("/lake/orders")
"""
PAYMENTS = ORDERS.replace("orders", "payments")


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def make_checkpoint(path: Path) -> None:
    (path / "offsets").mkdir(parents=True)
    (path / "metadata").write_text('{"id": "6f1b1a8e-5ad6-4d0b-8f0c-0f6d0f7f2a11"}')


def test_a_checkpoint_of_two_files_harms_both(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": ORDERS.format(cp="/cp"), "b.py": PAYMENTS.format(cp="/cp")})
    found = hf.audit_code(tmp_path)
    assert [each.effects for each in found.queries] == [(Effect.LOSES, Effect.FAILS)] * 2
    assert all("of its own" in each.changes[0] for each in found.queries)
    assert [[rule.code for rule in each.rules] for each in found.queries] == [[], ["HF804"]]


def test_a_query_knows_its_jobs(tmp_path: Path) -> None:
    task = {"spark_python_task": {"python_file": "jobs/a.py"}}
    files = {"jobs/a.py": ORDERS.format(cp="/cp"), "job.json": json.dumps(task)}
    found = hf.audit_code(write(tmp_path, files))
    assert found.queries[0].jobs == (f"{tmp_path}/job.json:1",)
    assert found.jobs[0].file == f"{tmp_path}/jobs/a.py"
    assert found.files == 2


def test_other_languages_are_named(tmp_path: Path) -> None:
    write(tmp_path, {"A.scala": "df.writeStream.start()", "B.scala": "object B"})
    write(tmp_path, {"c.sql": "-- c\nCREATE STREAMING TABLE c", "d.sql": "select 1"})
    scala, sql = hf.audit_code(tmp_path).not_understood
    assert scala.why == "It has writeStream and is scala: only Python is read."
    assert (sql.place, sql.why) == (f"{tmp_path}/c.sql:2", "A streaming table is declared in SQL.")


def test_checkpoints_that_exist(tmp_path: Path) -> None:
    code, cps = tmp_path / "code", tmp_path / "cps"
    relative = ORDERS.format(cp="cps/relative")
    computed = PAYMENTS.replace('"{cp}"', f'f"{cps}/{{env}}/computed"')
    given = PAYMENTS.replace('"{cp}"', "args.checkpoint")
    guarded = 'import holdfast as hf\nhf.start(df, stream="own", into=hf.Delta(path="/a"))\n'
    write(code, {"a.py": ORDERS.format(cp=f"file:{cps}/fixed"), "b.py": relative})
    write(code, {"c.py": computed, "d.py": given, "e.py": guarded})
    write(
        code,
        {
            "f.py": ORDERS.format(cp="/elsewhere"),
            "run.sh": f"spark-submit d.py --checkpoint {cps}/given",
        },
    )
    for name in ("fixed", "relative", "prod/computed", "given", "own", "nobody"):
        make_checkpoint(cps / name)
    found = hf.audit_code(code, checkpoints=str(cps))
    assert found.checkpoints is not None
    whose = {
        each.location.removeprefix(f"{cps}/"): [
            Path(q.partition(":")[0]).name for q in each.queries
        ]
        for each in found.checkpoints
    }
    assert whose == {
        "fixed": ["a.py"],
        "relative": ["b.py"],
        "prod/computed": ["c.py"],
        "given": ["d.py"],
        "own": ["e.py"],
        "nobody": [],
    }
    without = [Path(each.file).name for each in found.queries if not each.checkpoints]
    assert without == ["f.py"]


def test_many_files_are_read_by_several_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {f"j{n}.py": ORDERS.format(cp=f"/cp/{n}") for n in range(12)})
    alone = hf.audit_code(tmp_path)
    monkeypatch.setattr(repository, "MANY", 2)
    assert hf.audit_code(tmp_path) == alone
    assert len(alone.queries) == 12


def test_a_path_that_is_not_there() -> None:
    with pytest.raises(hf.ConfigError):
        hf.audit_code("not-there")
