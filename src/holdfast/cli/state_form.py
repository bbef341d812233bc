"""The form `json-v1` of `holdfast state`, from which the schema is made.

Within a version fields are added, never renamed or removed. The schema is committed as
docs/reference/state.schema.json.
"""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.cli.inspect_form import UnparsedJson

FORMAT = "holdfast.state/json-v1"


class StatePartitionJson(msgspec.Struct, rename="camel"):
    """One partition; `rows` is null when they are not known, and `whyNot` says why."""

    partition: int
    rows: int | None
    why_not: str | None
    size_bytes: int


class StateVersionJson(msgspec.Struct, rename="camel"):
    """One version that is kept."""

    version: int
    rows: int | None
    size_bytes: int


class StateStoreJson(msgspec.Struct, rename="camel"):
    """One store of an operator, in all partitions."""

    operator_id: int
    name: str | None
    store: str
    provider: str | None
    rows: int
    is_counted: bool
    size_bytes: int
    partitions: tuple[StatePartitionJson, ...]
    largest_partition: int | None
    largest_share: float | None
    is_skewed: bool
    versions: tuple[StateVersionJson, ...]
    not_decoded: str | None


class StateRowJson(msgspec.Struct, rename="camel"):
    """One row. What is not decoded is an object whose only field is `notDecoded`."""

    operator_id: int
    store: str
    partition: int
    key: Any
    value: Any
    since_version: int | None
    """Null of an example."""
    or_earlier: bool
    key_bytes: int
    value_bytes: int


class StateJson(msgspec.Struct, rename="camel", tag_field="format", tag=FORMAT):
    """What `holdfast state` found."""

    holdfast: str
    location: str
    summary: str
    version: int
    rows: int
    is_counted: bool
    keys: tuple[str, ...]
    matching: int | None
    """Null when no key was asked for."""
    is_searched: bool
    stores: tuple[StateStoreJson, ...]
    found: tuple[StateRowJson, ...]
    missing: tuple[str, ...]
    damaged: tuple[UnparsedJson, ...]
    spark_reader: tuple[str, ...]
