"""What Hadoop's checksums beside a file tell of it."""

from __future__ import annotations

import pytest

from holdfast.checkpoint.checksums import is_sidecar, is_stale
from holdfast.checkpoint.layout import number_to_spark
from tests.fuzz import writers

CONTENT = b"v1\n" + b'{"nextBatchWatermarkMs":0}' * 60
SIDECAR = writers.sidecar(CONTENT)


def is_changed(content: bytes, sidecar: bytes = SIDECAR) -> bool:
    return is_stale(".5.crc", sidecar, content, parse=lambda raw: raw.strip())


def flipped(raw: bytes, bit: int) -> bytes:
    at = bit // 8
    return raw[:at] + bytes([raw[at] ^ (1 << bit % 8)]) + raw[at + 1 :]


@pytest.mark.parametrize("bit", range(0, len(CONTENT) * 8, 7))
def test_every_flipped_bit_of_a_file_is_seen(bit: int) -> None:
    assert is_changed(flipped(CONTENT, bit))


@pytest.mark.parametrize("bit", range(64, len(SIDECAR) * 8, 5))
def test_a_flipped_bit_of_a_checksum_is_not_taken_for_a_changed_file(bit: int) -> None:
    assert not is_changed(CONTENT, flipped(SIDECAR, bit))


def test_what_is_appended_matters_if_the_file_says_something_else() -> None:
    assert not is_changed(CONTENT)
    assert not is_changed(CONTENT + b"\n\n")
    assert is_changed(CONTENT + b"\nmore")
    assert is_changed(CONTENT[:-1])
    assert is_changed(b"")


def test_a_checksum_of_another_form_is_none() -> None:
    assert is_sidecar(".5.crc", SIDECAR)
    assert not is_sidecar(".5.crc", b"nothing of Hadoop's")
    assert not is_sidecar(".5.crc", None)


@pytest.mark.parametrize(
    ("name", "number"),
    [("7", 7), ("0007", 7), ("+7", 7), ("-1", -1), ("7.copy", None), ("", None), ("9" * 30, None)],
)
def test_a_name_is_the_number_that_java_reads(name: str, number: int | None) -> None:
    assert number_to_spark(name) == number
