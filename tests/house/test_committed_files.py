"""What may not stand in any committed file."""

from __future__ import annotations

import re

import pytest

from lab.versions import OTHER_VERSIONS
from tests.house.repository import ROOT, tracked_files

# Spelt in two halves, or this file would be the first to break the rule.
REGISTRY_HOSTS = [
    "pypi." + "org",
    "pythonhosted." + "org",
    "maven." + "org",
    "maven.apache." + "org",
    "npmjs." + "org",
    "crates." + "io",
    "deb.debian." + "org",
]
TEXT = {".py", ".toml", ".txt", ".md", ".yml", ".c", ".json", ""}


def texts() -> dict[str, str]:
    return {
        str(path.relative_to(ROOT)): path.read_text(errors="replace")
        for path in tracked_files()
        if path.suffix in TEXT
    }


@pytest.mark.parametrize("host", REGISTRY_HOSTS)
def test_no_file_names_a_package_registry_by_host(host: str) -> None:
    assert [name for name, text in texts().items() if host in text] == []


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    personal = re.compile(r"(/home/\w+|/Users/\w+|/root/|C:\\Users|/work/)")
    naming = [name for name, text in texts().items() if personal.search(text)]
    assert naming == ["tests/house/test_committed_files.py"]


def test_the_lock_has_a_hash_for_every_requirement() -> None:
    others = [f"spark-{each}" for each in OTHER_VERSIONS]
    locks = sorted(ROOT.glob("requirements/*.txt"))
    assert [lock.stem for lock in locks] == ["bootstrap", "dev", "pipelines", *others]
    for lock in locks:
        text = lock.read_text()
        requirements = re.findall(r"^[A-Za-z0-9][^=\n]*==[^\n]*", text, re.MULTILINE)
        assert requirements
        for requirement in requirements:
            assert requirement.endswith("\\"), requirement
        assert "://" not in text


def test_nothing_is_larger_than_a_megabyte() -> None:
    large = {str(path): path.stat().st_size for path in tracked_files()}
    assert {name: size for name, size in large.items() if size > 1_000_000} == {}
