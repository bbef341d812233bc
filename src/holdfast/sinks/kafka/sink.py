"""`hf.Kafka`: a topic of Kafka as an exactly-once sink, as a user writes it."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, ClassVar

from holdfast.errors import ConfigError, created_without_our_frames
from holdfast.sinks.choosing import Choosing
from holdfast.sinks.options import as_number
from holdfast.sinks.secrets import Secret, check_secret, shown_name
from holdfast.sinks.sink import Capability, SinkSpec

if TYPE_CHECKING:
    from holdfast.record.contracts import SinkContract

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
"""What Kafka takes as the name of a topic."""
_PLANS_TIMEOUT_S = 30
LONGEST_TIMEOUT_S = 900
"""`transaction.max.timeout.ms` of a broker that was not configured otherwise."""


@created_without_our_frames
@dataclass(frozen=True)
class Kafka(SinkSpec):
    """A topic of Kafka: every batch is one transaction, which `read_committed` consumers see once.

    Args:
        servers: `env:NAME`, `file:PATH`, or a function that returns the bootstrap servers; or
            properties of a librdkafka client, one `name=value` per line, with `bootstrap.servers`.
        topic: The topic; it must exist.
        timeout_s: How long one batch may take from its first record to its commit. Readers wait
            for a transaction that nobody ends for as long.
        name: Its label in the ledger; by default the topic.

    Raises:
        ConfigError: The topic, the name or the timeout is not one that Kafka takes.
    """

    kind: ClassVar[str] = "kafka"
    package: ClassVar[str] = "holdfast.sinks.kafka"
    choosing: ClassVar[Choosing | None] = Choosing(
        guarantee="exactly once for consumers with `read_committed`; older drivers are fenced by "
        "the broker",
        reader_sees="with `read_committed` each batch once, partition by partition; without it "
        "also records of batches that were killed",
        rights="to write the topic, the ledger's topics and transactional ids",
        runs_on="Spark 4.2, without a connector; Kafka 2.8 and later",
        speed="0.6 times the rows per second of Spark's own sink, for 1 million rows of 100 bytes "
        "on a busy machine",
        page="kafka.md",
    )
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.CONTENTS})

    servers: Secret = field(repr=False)
    _: KW_ONLY
    topic: str
    timeout_s: int = 300
    name: str | None = None

    def __post_init__(self) -> None:
        check_secret(self.servers, "servers")
        names: dict[str, object] = {"topic": self.topic, "name": self.name or self.topic}
        for option, given in names.items():
            if not isinstance(given, str) or not _TOPIC.fullmatch(given) or given in (".", ".."):
                raise ConfigError(
                    f"{option}= takes letters, digits, '.', '_' and '-', at most 249, as Kafka "
                    f"does for topics; not {given!r}."
                )
        if not 1 <= as_number("timeout_s", self.timeout_s) <= LONGEST_TIMEOUT_S:
            raise ConfigError(
                f"timeout_s= takes 1 to {LONGEST_TIMEOUT_S} seconds, not {self.timeout_s}: brokers "
                "refuse longer transactions (transaction.max.timeout.ms)."
            )
        object.__setattr__(self, "name", self.name or self.topic)

    @property
    def label(self) -> str:
        """Its label in the ledger."""
        return str(self.name)

    @property
    def display_name(self) -> str:
        """As people know it."""
        return f"the Kafka topic {self.topic}"

    @property
    def place(self) -> str:
        """The topic, and by what name its cluster is known: its address is a secret."""
        return f"kafka:{self.topic}@{shown_name(self.servers)}"

    @property
    def secret(self) -> str | None:
        """The name of its servers; None when a function returns them."""
        return shown_name(self.servers) if isinstance(self.servers, str) else None

    @classmethod
    def from_contract(cls, contract: SinkContract) -> Kafka | None:
        """Return the sink that a contract tells of; None when a function returned its servers."""
        if contract.secret is None:
            return None
        place = contract.place.removeprefix("kafka:")
        topic = place.removesuffix(f"@{contract.secret}")
        # Its transactions have one record. Brokers can refuse what the default of a batch is.
        return cls(contract.secret, topic=topic, name=contract.label, timeout_s=_PLANS_TIMEOUT_S)
