"""The AWS profile that the environment names.

Keys, region and endpoint are read here: botocore takes longer to import than `holdfast inspect`
takes to answer. What a profile can ask for beyond keys (SSO, an assumed role, a program) is left to
boto3, which is loaded then and only then.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from obstore.auth.boto3 import Boto3CredentialProvider

_OPTIONS = {
    "aws_access_key_id": "access_key_id",
    "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token",
    "region": "region",
    "endpoint_url": "endpoint",
}
_BEFORE_KEYS = {
    "role_arn": "assumes a role",
    "sso_session": "signs in with SSO",
    "sso_start_url": "signs in with SSO",
    "login_session": "signs in with `aws login`",
}
"""Settings that win over keys in the same profile, as in botocore `credentials.py`."""
_AFTER_KEYS = {"credential_process": "calls a program for its credentials"}
"""Settings that win over keys in `~/.aws/config`, but not over those in `~/.aws/credentials`."""

LIFETIME = timedelta(minutes=10)
"""botocore renews credentials that expire in less than this, so none is used after it expired."""


class AwsProfile(msgspec.Struct, frozen=True, kw_only=True):
    """A profile in `~/.aws`."""

    name: str
    options: dict[str, str]
    """obstore's names and values, of what obstore can use as it is."""
    needs: str | None
    """What the profile asks for that only boto3 can do, after the words "The profile"."""


def read_profile(environment: Mapping[str, str]) -> AwsProfile:
    """Return the profile `AWS_PROFILE`, or `default`; an empty one when it is not there.

    Raises:
        ConfigError: An AWS file cannot be parsed.
    """
    home = Path(environment.get("HOME", "~")).expanduser()
    name = environment.get("AWS_PROFILE", "default")
    credentials = environment.get("AWS_SHARED_CREDENTIALS_FILE", home / ".aws/credentials")
    config = environment.get("AWS_CONFIG_FILE", home / ".aws/config")
    named = name if name == "default" else f"profile {name}"
    keys = _read_section(credentials, name)
    found = {**_read_section(config, named), **keys}
    options = {ours: found[theirs] for theirs, ours in _OPTIONS.items() if found.get(theirs)}
    asks = _BEFORE_KEYS if "aws_access_key_id" in keys else {**_BEFORE_KEYS, **_AFTER_KEYS}
    needs = next((told for setting, told in asks.items() if found.get(setting)), None)
    return AwsProfile(name=name, options=options, needs=needs)


def _read_section(file: str | Path, section: str) -> dict[str, str]:
    import configparser  # noqa: PLC0415 - only a bucket of AWS has a profile

    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(file)
    except (configparser.Error, UnicodeDecodeError):
        parsed = False
    else:
        parsed = True
    if not parsed:  # raised here, because the parser's own errors quote the lines of the file
        raise ConfigError(f"The AWS file {file} cannot be parsed.")
    return dict(parser[section]) if parser.has_section(section) else {}


def credential_provider(profile: AwsProfile) -> Boto3CredentialProvider:
    """Return what gives obstore the credentials of a profile; nothing is asked for yet.

    Raises:
        ConfigError: boto3 does not accept the profile.
        MissingExtraError: boto3 is not installed.
    """
    try:
        import boto3
        from botocore.exceptions import BotoCoreError
        from obstore.auth.boto3 import Boto3CredentialProvider
    except ImportError:
        raise MissingExtraError(
            f"Using the AWS profile {profile.name!r}, which {profile.needs},",
            module="boto3",
            extra="aws",
        ) from None
    try:
        session: Any = boto3.Session(profile_name=profile.name)
        return Boto3CredentialProvider(session, ttl=LIFETIME)
    except (BotoCoreError, ValueError) as error:
        # Not its sentence and not as a cause: it can quote the profile.
        refused = type(error).__name__
    raise ConfigError(
        f"boto3 does not accept the AWS profile {profile.name!r}, which {profile.needs}: {refused}."
    )
