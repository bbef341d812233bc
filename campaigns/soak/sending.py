"""A producer that sends known messages at a steady rate, while the broker may be killed."""

from __future__ import annotations

import threading
import time

from confluent_kafka import Message as Delivered
from confluent_kafka import Producer

from examples.sensors.messages import Message

_TICK_SECONDS = 0.05


class Sender:
    """Sends messages from a thread of its own; each must come to stand where it belongs."""

    def __init__(self, address: str, topic: str, *, messages: list[Message], rate: float) -> None:
        """Send nothing yet.

        Args:
            address: The broker.
            topic: Empty so far.
            messages: All that will be sent, in this order.
            rate: Messages each second.
        """
        # Idempotent: a request that is sent again must not put its messages there twice. A message
        # never expires: the broker comes back.
        settings = {"enable.idempotence": True, "message.timeout.ms": 0, "linger.ms": 20}
        self._producer = Producer({"bootstrap.servers": address, **settings, "log_level": 0})
        self._topic = topic
        self._messages = messages
        self._rate = rate
        self._thread = threading.Thread(target=self._send_all, name="sender", daemon=True)
        self._hurry = threading.Event()
        self.acknowledged = 0
        self.wrong: list[str] = []
        """Messages that were refused, or stand elsewhere than they belong."""

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def finish(self) -> None:
        """Send what is left at once, and wait until the broker has acknowledged every message.

        Raises:
            RuntimeError: Not every message stands where it belongs; nothing can be judged then.
        """
        self._hurry.set()
        self._thread.join()
        if self.wrong or self.acknowledged != len(self._messages):
            told = f"{self.acknowledged:,} of {len(self._messages):,} messages acknowledged"
            raise RuntimeError(f"{told}; wrong: {self.wrong[:3]}")

    def _send_all(self) -> None:
        began, sent = time.monotonic(), 0
        while sent < len(self._messages):
            due = int((time.monotonic() - began) * self._rate)
            if self._hurry.wait(_TICK_SECONDS):
                due = len(self._messages)
            for each in self._messages[sent:due]:
                self._send(each)
            sent = max(sent, min(due, len(self._messages)))
            self._producer.poll(0)
        self._producer.flush()

    def _send(self, message: Message) -> None:
        def acknowledge(error: object, delivered: Delivered) -> None:
            if error is None and delivered.offset() == message.offset:
                self.acknowledged += 1
            else:
                self.wrong.append(f"{message.partition}/{message.offset}: {error or delivered}")

        self._producer.produce(
            self._topic,
            partition=message.partition,
            key=message.key,
            value=message.value,
            timestamp=round(message.timestamp.timestamp() * 1000),
            on_delivery=acknowledge,
        )
