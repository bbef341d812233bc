"""Job definitions: which program they run, with which parameters, and what was not understood."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.audit.jobs import checkpoint_of, file_of, read_jobs
from holdfast.audit.model import Job, NotUnderstood

BUNDLE = """\
resources:
  jobs:
    lake:
      tasks:
        - task_key: a
          spark_python_task:
            python_file: ../jobs/a.py # the first
            parameters: ["--checkpoint", "/cp/a"]
        - task_key: b
          notebook_task:
            base_parameters:
              checkpoint: /cp/b
            notebook_path: /Repos/lake/b
        - task_key: c
          spark_python_task:
            python_file: *shared
"""
TASKS = {
    "tasks": [
        {"spark_python_task": {"python_file": "a.py", "parameters": ["--checkpoint=/cp/a"]}},
        {"notebook_task": {"notebook_path": "/b", "base_parameters": {"table": "t"}}},
        {"spark_submit_task": {"parameters": ["--conf", "x=y", "c.py", "1"]}},
    ]
}


def jobs(path: str, text: str) -> list[tuple[str, str, tuple[str, ...]]]:
    found = read_jobs(path, text.encode())
    return [(each.place, each.program, each.parameters) for each in found if isinstance(each, Job)]


def test_a_bundle() -> None:
    assert jobs("job.yml", BUNDLE) == [
        ("job.yml:7", "../jobs/a.py", ("--checkpoint", "/cp/a")),
        ("job.yml:13", "/Repos/lake/b", ("--checkpoint=/cp/b",)),
    ]
    left = [each for each in read_jobs("job.yml", BUNDLE.encode()) if not isinstance(each, Job)]
    assert left == [
        NotUnderstood(
            place="job.yml:16",
            why="python_file is not a plain value, and YAML is read line by line.",
        )
    ]


def test_a_job_of_databricks_as_json() -> None:
    text = json.dumps(TASKS, indent=1)
    assert jobs("job.json", text) == [
        ("job.json:5", "a.py", ("--checkpoint=/cp/a",)),
        ("job.json:13", "/b", ("--table=t",)),
        ("job.json:20", "c.py", ("1",)),
    ]
    assert isinstance(read_jobs("job.json", text.encode()[:-5])[0], NotUnderstood)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("spark-submit --master local[2] a.py x", ("a.py", ("x",))),
        ("exec /opt/spark/bin/spark-submit --verbose a.py", ("a.py", ())),
        ('spark-submit \\\n  --conf "a=b" \\\n  a.py && echo', ("a.py", ())),
        ("spark-submit $HOME/a.py", ("$HOME/a.py", ())),
    ],
)
def test_a_line_of_a_shell(line: str, expected: tuple[str, tuple[str, ...]]) -> None:
    assert jobs("run.sh", f"set -e\n{line}\n") == [("run.sh:2", *expected)]


@pytest.mark.parametrize("line", ["spark-submit --class Main app.jar", "spark-submit --master x"])
def test_a_line_without_a_python_program(line: str) -> None:
    (found,) = read_jobs("run.sh", line.encode())
    assert isinstance(found, NotUnderstood)


def test_operators_of_airflow() -> None:
    text = (
        "SparkSubmitOperator(task_id='a', application='jobs/a.py', application_args=['x'])\n"
        "DatabricksSubmitRunOperator(json={'notebook_task': {'notebook_path': '/b'}})\n"
        "BashOperator(bash_command='spark-submit c.py')\n"
        "SparkSubmitOperator(application=path)\n"
    )
    assert sorted(jobs("dag.py", text)) == [
        ("dag.py:1", "jobs/a.py", ("x",)),
        ("dag.py:2", "/b", ()),
        ("dag.py:3", "c.py", ()),
    ]
    assert NotUnderstood(
        place="dag.py:4", why="The operator names its program by an expression."
    ) in read_jobs("dag.py", text.encode())


def test_a_program_of_kubernetes() -> None:
    text = "spec:\n  mainApplicationFile: local:///opt/a.py\n  arguments:\n    - x\n    - y\n"
    assert jobs("app.yaml", text) == [("app.yaml:2", "local:///opt/a.py", ("x", "y"))]


@pytest.mark.parametrize(
    ("program", "file"),
    [
        ("./a.py", "repo/jobs/a.py"),
        ("s3://code/jobs/b.py", "repo/jobs/b.py"),
        ("/Repos/lake/note", "repo/note.ipynb"),
        ("b.py", None),
        ("other.py", None),
    ],
)
def test_the_file_that_a_job_runs(program: str, file: str | None) -> None:
    files = {
        "a.py": ["repo/jobs/a.py"],
        "b.py": ["repo/jobs/b.py", "repo/old/b.py"],
        "note.ipynb": ["repo/note.ipynb"],
    }
    assert file_of(Job(place="j:1", kind="x", program=program), files) == file


@pytest.mark.parametrize(
    ("parameters", "checkpoint"),
    [
        (("--checkpoint", "/a"), "/a"),
        (("x", "--checkpoint-location=/a"), "/a"),
        (("--checkpoint", "--other"), None),
        (("x",), None),
    ],
)
def test_the_checkpoint_that_a_job_gives(
    parameters: tuple[str, ...], checkpoint: str | None
) -> None:
    job = Job(place="j:1", kind="x", program="a.py", parameters=parameters)
    assert checkpoint_of(job) == checkpoint


@given(st.text(max_size=200), st.sampled_from(("a.json", "a.yml", "a.sh", "a.py")))
def test_no_content_raises(text: str, path: str) -> None:
    keyed = f'{{"python_file": {text}}}\npython_file: {text}\nspark-submit {text}\n'
    for each in (text, keyed, f"SparkSubmitOperator({text})"):
        assert isinstance(read_jobs(path, each.encode("utf-8", "replace")), list)
