"""The codes of refusals by Spark that are predicted from a checkpoint: stable, one meaning each.

Their families are those of the rules: HF1xx the directory, HF2xx offsets and commits, HF3xx
sources, HF4xx state and query, HF5xx settings. A code is never used for anything else, also when
it is no longer given. Each is a rule, whose page explains it.
"""

from __future__ import annotations

from enum import StrEnum, unique


@unique
class RefusalCode(StrEnum):
    """Why Spark refuses a start, or fails in its first batch."""

    METADATA_UNREADABLE = "HF101"
    METADATA_MISSING = "HF102"
    CHECKPOINT_NOT_EMPTY = "HF103"
    VERSION_NOT_READABLE = "HF104"
    LOCATION_IS_A_FILE = "HF105"
    OFFSET_LOG_EMPTY = "HF201"
    ENTRY_UNREADABLE = "HF202"
    PREVIOUS_OFFSET_ENTRY_MISSING = "HF203"
    ENTRY_WITH_OTHER_SOURCES = "HF204"
    ENTRY_WITHOUT_SETTINGS = "HF205"
    ENTRY_BLOCKED_BY_CHECKSUM = "HF206"
    NAME_TAKEN = "HF228"
    SOURCE_LOG_ENTRY_MISSING = "HF311"
    SOURCE_LOG_ENTRY_UNREADABLE = "HF312"
    SOURCE_LOG_BLOCKED_BY_CHECKSUM = "HF313"
    QUERY_CHANGED = "HF401"
    STATE_SCHEMA_UNREADABLE = "HF411"
    STATE_SCHEMA_ELSEWHERE = "HF412"
    STATE_BLOCKED_BY_CHECKSUM = "HF413"
    STATE_MISSING = "HF414"
    STATE_OPERATOR_MISSING = "HF415"
    STATE_FILES_NOT_NAMED = "HF416"
    STATE_OF_ANOTHER_BATCH = "HF417"
    STATE_FILE_DAMAGED = "HF418"
    STATE_FILE_MISSING = "HF419"
    PARTITIONS_NOT_PINNED = "HF501"
    REPARTITION_NOT_FINISHED = "HF502"

    @property
    def display_name(self) -> str:
        """The code with its name: `HF102 metadata-missing`."""
        return f"{self.value} {self.name.lower().replace('_', '-')}"
