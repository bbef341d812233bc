"""Where the options of a store come from: as people have them already. Pure, but for the AWS files.

obstore reads the `AWS_*`, `GOOGLE_*` and `AZURE_*` variables itself. What it does not know is added
here: the AWS profile, a plain-HTTP endpoint in the environment, and the settings of a Spark
session. What is given by hand wins, then Spark's, then the profile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from holdfast.errors import ConfigError
from holdfast.storage.aws_profile import AwsProfile, credential_provider, read_profile

# Hadoop's name below `fs.s3a.` to obstore's; from hadoop-aws 3.5 `fs/s3a/Constants.java`.
_S3A = {
    "access.key": "access_key_id",
    "secret.key": "secret_access_key",
    "session.token": "session_token",
    "endpoint": "endpoint",
    "endpoint.region": "region",
}
_SIGNED = {"access_key_id", "secret_access_key", "session_token", "token", "skip_signature"}
"""Options that say how requests are signed."""


def parse_options(texts: Iterable[str]) -> dict[str, str]:
    """Return options given as `KEY=VALUE`.

    Raises:
        ConfigError: One has no `=`.
    """
    options = {}
    for number, text in enumerate(texts, start=1):
        name, equals, value = text.partition("=")
        if not equals or not name:  # not shown: it may be a key without its name
            raise ConfigError(f"Storage option number {number} is not of the form KEY=VALUE.")
        options[name.strip().lower().removeprefix("aws_")] = value
    return options


class Settings(Protocol):
    """Hadoop's settings by name: a mapping, or a session that is asked."""

    def get(self, name: str, /) -> str | None:
        """Return a setting; None without one."""


def from_hadoop(settings: Settings, *, bucket: str) -> dict[str, str]:
    """Return what a Spark session's `spark.hadoop.fs.s3a.*` say of a bucket.

    Settings of the bucket itself (`fs.s3a.bucket.<name>.…`) win, as in Hadoop.
    """
    options = {}
    for prefix in ("fs.s3a.", f"fs.s3a.bucket.{bucket}."):
        for hadoop, ours in _S3A.items():
            value = settings.get(prefix + hadoop) or settings.get(f"spark.hadoop.{prefix}{hadoop}")
            if value:
                options[ours] = value
    endpoint = options.get("endpoint")
    if endpoint and "://" not in endpoint:
        options["endpoint"] = f"https://{endpoint}"
    return options


def from_environment(environment: Mapping[str, str], *, given: Mapping[str, str]) -> dict[str, Any]:
    """Return what an AWS profile and the environment add to the given options.

    The variables that obstore reads itself are left to it. The parts of a credential belong
    together: where one is given, those of the profile are not used.

    Raises:
        ConfigError: An AWS file cannot be parsed, or boto3 does not accept the profile.
        MissingExtraError: The profile needs boto3, which is not installed.
    """
    options: dict[str, Any] = {}
    if "AWS_ACCESS_KEY_ID" not in environment:
        options |= _from_profile(read_profile(environment), is_signed=bool(given.keys() & _SIGNED))
    endpoint = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
    if endpoint:
        options["endpoint"] = endpoint
    return options


def _from_profile(profile: AwsProfile, *, is_signed: bool) -> dict[str, Any]:
    if profile.needs is None and not is_signed:
        return dict(profile.options)
    options: dict[str, Any] = {
        name: value for name, value in profile.options.items() if name not in _SIGNED
    }
    if not is_signed:
        options["credential_provider"] = credential_provider(profile)
    return options
