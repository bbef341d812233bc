"""The approval of a plan by a person, as a short text that an agent passes on.

`holdfast apply PLAN --approve` prints it in a terminal. It is bound to every byte of the plan and
to the permissions that go with it, and it expires. It is made with a key that only the person's
account can read, so knowing the plan is not enough to make one.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path

from holdfast import clock
from holdfast.errors import ConfigError, HoldfastError
from holdfast.plan.plan_file import Plan, encode_plan

KEY_VARIABLE = "HOLDFAST_APPROVAL_KEY"
"""The environment variable that names the file of the key."""
LIFETIME = timedelta(hours=1)
_KEY_BYTES, _SHOWN = 32, 24
_FORM_BYTES = b"holdfast approval 1"
_TOO_EARLY = timedelta(minutes=5)
"""How far the clocks of two machines may be apart."""


class ApprovalError(HoldfastError):
    """A plan was not approved by a person; nothing was changed."""

    code = "APPROVAL"

    def __init__(self, plan_id: str, why: str) -> None:
        self.plan_id = plan_id
        super().__init__(
            what=f"The plan {plan_id} was not carried out; nothing was changed.",
            why=why,
            how="Ask a person to run `holdfast apply PLAN --approve` in a terminal, and pass on "
            "the digest that it prints.",
        )


def make_approval(plan: Plan, allowed: Collection[str], key: bytes) -> str:
    """Return the digest that approves a plan, with the permissions that are given to it."""
    return _digest(plan, allowed, key, minute=int(clock.now().timestamp() // 60))


def check_approval(plan: Plan, allowed: Collection[str], given: str, *, key: bytes) -> None:
    """Refuse a plan that the digest does not approve.

    Args:
        plan: What would be carried out.
        allowed: The permissions that would be given to it.
        given: The digest.
        key: Of the person's account.

    Raises:
        ApprovalError: It is missing, expired, or for another plan or other permissions.
    """
    minute_text, _, _ = given.strip().partition("-")
    if not given.strip():
        raise ApprovalError(plan.id, "There is no digest of an approval.")
    if not minute_text.isascii() or not minute_text.isalnum() or len(minute_text) > 12:
        raise ApprovalError(plan.id, "The digest does not have the form of one.")
    try:
        minute = int(minute_text, 16)
        approved_at = datetime.fromtimestamp(minute * 60, tz=UTC)
    except (ValueError, OverflowError, OSError):
        raise ApprovalError(plan.id, "The digest does not have the form of one.") from None
    if not hmac.compare_digest(
        _digest(plan, allowed, key, minute=minute).encode(), given.strip().encode()
    ):
        raise ApprovalError(
            plan.id,
            "The digest is not one of this plan with these permissions: another plan was approved, "
            "or the plan was changed since.",
        )
    now = clock.now()
    if not approved_at - _TOO_EARLY <= now <= approved_at + LIFETIME + timedelta(minutes=1):
        raise ApprovalError(
            plan.id, f"The approval of {approved_at:%Y-%m-%d %H:%M} UTC has expired."
        )


def _digest(plan: Plan, allowed: Collection[str], key: bytes, *, minute: int) -> str:
    words = "\n".join(sorted(allowed)).encode()
    parts = (_FORM_BYTES, b"%x" % minute, hashlib.sha256(encode_plan(plan)).digest(), words)
    message = b"".join(len(each).to_bytes(8, "big") + each for each in parts)
    return f"{minute:x}-{hmac.new(key, message, 'sha256').hexdigest()[:_SHOWN]}"


def key_file() -> Path:
    """Return where the key is: of the account that runs this process."""
    named = os.environ.get(KEY_VARIABLE)
    if named:
        return Path(named)
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "holdfast" / "approval.key"


def read_key() -> bytes | None:
    """Return the key; None if no plan was ever approved by this account.

    Raises:
        ConfigError: Other accounts can read it, or it is no key.
    """
    path = key_file()
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            key = file.read(_KEY_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"The approval key {path} cannot be read: {error.strerror}.") from None
    if mode & 0o077:
        raise ConfigError(f"Other accounts can read the approval key {path}: chmod 600 it.")
    if len(key) != _KEY_BYTES:
        raise ConfigError(f"{path} is not an approval key. Remove it, and approve again.")
    return key


def read_or_make_key() -> bytes:
    """Return the key of this account; make it if there is none.

    Raises:
        ConfigError: It cannot be read or made.
    """
    found = read_key()
    if found is not None:
        return found
    path, key = key_file(), secrets.token_bytes(_KEY_BYTES)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
    except OSError as error:
        raise ConfigError(f"The approval key {path} cannot be made: {error.strerror}.") from None
    return key
