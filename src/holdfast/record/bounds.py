"""What a field of the record may hold. A value outside means that Holdfast did not write the file.

The record is hostile input: a forged file must not reach arithmetic, paths or the log
with a value that no Holdfast would have written.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

MAX_GENERATION = (1 << 10) - 1
MAX_EPOCH = (1 << 21) - 1
"""As many as the transaction version of a Delta commit can carry."""
MAX_BATCH = (1 << 62) - 1
MIN_TERM_S, MAX_TERM_S = 1.0, 3600.0

# Control characters, line separators, zero-width and bidirectional characters, lone surrogates.
PRINTABLE = (
    r"\A[^\x00-\x1f\x7f-\xa0\xad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ud800-\udfff\ufeff]*\Z"
)
_UUID = r"\A[0-9a-fA-F]{1,8}(-[0-9a-fA-F]{1,4}){3}-[0-9a-fA-F]{1,12}\Z"

GenerationNumber = Annotated[int, Meta(ge=1, le=MAX_GENERATION)]
EpochNumber = Annotated[int, Meta(ge=1, le=MAX_EPOCH)]
BatchNumber = Annotated[int, Meta(ge=0, le=MAX_BATCH)]
AcceptanceNumber = Annotated[int, Meta(ge=1, le=10**15)]
Version = Annotated[int, Meta(ge=1, le=1 << 16)]
ProcessNumber = Annotated[int, Meta(ge=0, le=(1 << 32) - 1)]
TermSeconds = Annotated[float, Meta(ge=MIN_TERM_S, le=MAX_TERM_S)]

Line = Annotated[str, Meta(max_length=255, pattern=PRINTABLE)]
PathText = Annotated[str, Meta(min_length=1, max_length=4096, pattern=PRINTABLE)]
Timestamp = Annotated[str, Meta(max_length=40, pattern=r"\A[0-9T:.+Z-]*\Z")]
Word = Annotated[str, Meta(pattern=r"\A[a-z][a-z-]{0,31}\Z")]
Uuid = Annotated[str, Meta(pattern=_UUID)]
Token = Annotated[str, Meta(pattern=r"\A[0-9a-f]{32}\Z")]
Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
ContractDigest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{16}\Z")]
KindName = Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9_.-]{0,63}\Z")]
SecretName = Annotated[
    str,
    Meta(pattern=r"\A(env:[A-Za-z_][A-Za-z0-9_]*|file:[^\x00-\x1f\x7f]+)\Z", max_length=4096),
]
"""Where a secret is found, never the secret: `env:SERVING_DSN`, `file:/run/secrets/dsn`."""
RuleCode = Annotated[str, Meta(pattern=r"\AHF[0-9]{3}\Z")]

TopicName = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9._-]{1,249}\Z")]
TopicId = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-]{1,36}\Z")]
"""As Kafka writes its UUIDs: 22 characters."""
MAX_TOPICS = 1_000
TopicIds = Annotated[dict[TopicName, TopicId], Meta(max_length=MAX_TOPICS)]

MAX_TEXT = 1 << 16
Text = Annotated[str, Meta(max_length=MAX_TEXT)]
"""Any characters: escaped before it is shown."""
Source = Annotated[str, Meta(max_length=1 << 20)]
"""Any characters: a Kafka source names its topics. Escaped before it is shown."""
Sources = Annotated[tuple[Source, ...], Meta(max_length=10_000)]
Names = Annotated[tuple[Text, ...], Meta(max_length=10_000)]
Settings = Annotated[dict[Line, Text], Meta(max_length=1_000)]
