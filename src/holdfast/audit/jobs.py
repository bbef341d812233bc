"""Job definitions that name a program: Databricks jobs and bundles, Kubernetes, Airflow, shell.

Only what names a program is read, with its parameters. YAML is read line by line for a few keys:
Holdfast has no YAML parser among its dependencies, and what such a line does not show is said.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from holdfast.audit.model import Job, NotUnderstood
from holdfast.lint.source import LARGEST_BYTES

JOB_FILES = (".json", ".yml", ".yaml", ".sh", ".bash", "Makefile", "Dockerfile")
_KEYS = {
    "python_file": "databricks",
    "notebook_path": "databricks",
    "mainApplicationFile": "kubernetes",
}
_YAML_KEY = re.compile(r"^(\s*(?:-\s+)*)(python_file|notebook_path|mainApplicationFile)\s*:(.*)$")
_YAML_LIST = re.compile(
    r"^\s*(?:-\s+)*(parameters|arguments|named_parameters|base_parameters)\s*:(.*)$"
)
_YAML_ITEM = re.compile(r"^\s*-\s+(.*)$|^\s*([\w.-]+)\s*:\s*(\S.*)$")
_SUBMIT = re.compile(r"(?:^|[\s/\"'\[&;])spark-submit(?=\s)(.*)$")
_FLAGS = frozenset({"--verbose", "-v", "--supervise", "--version", "--help"})
Found = Job | NotUnderstood


def read_jobs(path: str, content: bytes) -> list[Found]:
    """Return the jobs that a file defines, and what was not understood of them."""
    if len(content) > LARGEST_BYTES:
        return []
    text = content.decode("utf-8", errors="replace")
    if path.endswith(".json"):
        return [*_of_json(path, text)]
    found: list[Found] = [*_of_submit(path, text)]
    if path.endswith((".yml", ".yaml")):
        found += _of_yaml(path, text)
    if path.endswith(".py"):
        found += _of_airflow(path, text)
    return found


def _of_json(path: str, text: str) -> Iterator[Found]:
    if not any(f'"{key}"' in text for key in (*_KEYS, "spark_submit_task")):
        return
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        yield NotUnderstood(place=path, why="It names a program of a job and is not JSON.")
        return
    lines = text.splitlines()
    for holder in _objects(given):
        for key, kind in _KEYS.items():
            if isinstance(program := holder.get(key), str):
                line = _line_of(lines, program)
                yield Job(
                    place=f"{path}:{line}",
                    kind=kind,
                    program=program,
                    parameters=_parameters_of(holder),
                )
        task = holder.get("spark_submit_task")
        if isinstance(task, dict) and isinstance(task.get("parameters"), list):
            words = [str(each) for each in task["parameters"]]
            yield _submitted(f"{path}:{_line_of(lines, 'spark_submit_task')}", words, "databricks")


def _objects(given: Any) -> Iterator[dict[str, Any]]:
    waiting = [given]
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, dict):
            yield each
            waiting = [*each.values(), *waiting]
        elif isinstance(each, list):
            waiting = [*each, *waiting]


def _parameters_of(holder: dict[str, Any]) -> tuple[str, ...]:
    for key in ("parameters", "base_parameters", "arguments", "named_parameters"):
        given = holder.get(key)
        if isinstance(given, list):
            return tuple(map(str, given))
        if isinstance(given, dict):
            return tuple(f"--{name}={value}" for name, value in given.items())
    return ()


def _line_of(lines: list[str], text: str) -> int:
    shown = json.dumps(text)[1:-1]
    return next((number for number, line in enumerate(lines, start=1) if shown in line), 1)


def _of_yaml(path: str, text: str) -> Iterator[Found]:
    lines = text.splitlines()
    for number, line in enumerate(lines):
        key = _YAML_KEY.match(line)
        if key is None:
            continue
        place, value = f"{path}:{number + 1}", _scalar(key[3])
        if not value or value[0] in "*&|>{[":
            why = f"{key[2]} is not a plain value, and YAML is read line by line."
            yield NotUnderstood(place=place, why=why)
            continue
        block = _block(lines, number, len(key[1]))
        parameters = tuple(_yaml_parameters(block))
        yield Job(place=place, kind=_KEYS[key[2]], program=value, parameters=parameters)


def _block(lines: list[str], number: int, indent: int) -> list[str]:
    """Return the lines of the mapping that a key is in."""

    def is_inside(line: str) -> bool:
        own = len(line) - len(line.lstrip(" "))
        return not line.strip() or own >= indent

    first = number
    while first > 0 and is_inside(lines[first - 1]):
        first -= 1
    last = number
    while last + 1 < len(lines) and is_inside(lines[last + 1]):
        last += 1
    return lines[first : last + 1]


def _yaml_parameters(block: list[str]) -> Iterator[str]:
    for number, line in enumerate(block):
        found = _YAML_LIST.match(line)
        if found is None:
            continue
        flow = _scalar(found[2])
        if flow.startswith("["):
            yield from (_scalar(each) for each in flow.strip("[]").split(",") if each.strip())
            return
        for below in block[number + 1 :]:
            item = _YAML_ITEM.match(below)
            if item is None or _YAML_KEY.match(below):
                return
            yield _scalar(item[1]) if item[1] else f"--{item[2]}={_scalar(item[3])}"


def _scalar(text: str) -> str:
    """Return a plain or quoted value without its comment."""
    bare = text.strip()
    if bare[:1] in {"'", '"'}:
        return bare[1:].partition(bare[0])[0]
    return re.split(r"\s#", bare)[0].strip()


def _of_submit(path: str, text: str) -> Iterator[Found]:
    if "spark-submit" not in text:
        return
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        first, joined = number, lines[number]
        while joined.rstrip().endswith("\\") and number + 1 < len(lines):
            number += 1
            joined = f"{joined.rstrip()[:-1]} {lines[number].strip()}"
        number += 1
        found = _SUBMIT.search(joined)
        if found is None or joined.lstrip().startswith("#"):
            continue
        called = found[1]
        if path.endswith(".py"):  # inside a text of the program
            called = re.split(r"[\"']", called)[0]
        job = _submitted(f"{path}:{first + 1}", _words(called), "spark-submit")
        if isinstance(job, Job) or not path.endswith(".py"):  # a program may only speak of it
            yield job


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.replace('"', " ").replace("'", " ").split()


def _submitted(place: str, words: list[str], kind: str) -> Found:
    """Return the job of a spark-submit line: its options come first, then the program."""
    number = 0
    while number < len(words) and words[number].startswith("-"):
        has_value = "=" not in words[number] and words[number] not in _FLAGS
        number += 2 if has_value else 1
    program = words[number] if number < len(words) else ""
    if not program or program in {"&&", "||", ";", "|"}:
        return NotUnderstood(place=place, why="spark-submit is called, and no program is named.")
    if not program.endswith(".py") and "$" not in program and "{" not in program:
        return NotUnderstood(place=place, why=f"spark-submit runs {program}, which is not Python.")
    ended = (
        n for n, each in enumerate(words) if n > number and each in {"&&", "||", ";", "|", "&"}
    )
    parameters = tuple(words[number + 1 : next(ended, None)])
    return Job(place=place, kind=kind, program=program, parameters=parameters)


def _of_airflow(path: str, text: str) -> Iterator[Found]:
    if "SparkSubmitOperator(" not in text and "DatabricksSubmitRunOperator(" not in text:
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return  # the audit of the file says so
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {
            *("SparkSubmitOperator", "DatabricksSubmitRunOperator"),
        }:
            yield _operator(f"{path}:{node.lineno}", node)


def _operator(place: str, call: ast.Call) -> Found:
    given = {each.arg: _literal(each.value) for each in call.keywords if each.arg}
    for holder in _objects(given):
        program = next((holder[key] for key in ("application", *_KEYS) if holder.get(key)), None)
        if isinstance(program, str):
            arguments = holder.get("application_args")
            parameters = tuple(map(str, arguments)) if isinstance(arguments, list) else ()
            parameters = parameters or _parameters_of(holder)
            return Job(place=place, kind="airflow", program=program, parameters=parameters)
    return NotUnderstood(place=place, why="The operator names its program by an expression.")


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError):
        return None


def checkpoint_of(job: Job) -> str | None:
    """Return the checkpoint location that a job gives to its program, if it gives one."""
    words = iter(job.parameters)
    for word in words:
        name, has_value, value = word.partition("=")
        if "checkpoint" in name.lower():
            given = value if has_value else next(words, None)
            return given if given and not given.startswith("--") else None
    return None


def file_of(job: Job, files: dict[str, list[str]]) -> str | None:
    """Return the audited file that a job runs; None if none is, or several can be.

    Args:
        job: The job.
        files: Audited files by their names without directories.
    """
    parts = [each for each in PurePath(job.program).parts if each not in {"..", ".", "/"}]
    if not parts:
        return None
    name = parts[-1]
    found = [path for each in (name, f"{name}.py", f"{name}.ipynb") for path in files.get(each, [])]
    best = max((_common(parts, path) for path in found), default=0)
    same = [path for path in found if _common(parts, path) == best]
    return same[0] if len(same) == 1 else None


def _common(parts: list[str], path: str) -> int:
    """Return how many parts two paths have in common at their ends, with or without a suffix."""
    own = PurePath(path).parts
    count = 1
    while count < min(len(parts), len(own)) and parts[-count - 1] == own[-count - 1]:
        count += 1
    return count
