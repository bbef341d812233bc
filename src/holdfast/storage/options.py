"""Where the options of a store come from: as people have them already. Pure, but for the AWS files.

obstore reads the `AWS_*`, `GOOGLE_*` and `AZURE_*` variables itself. What it does not know is added
here: profiles in `~/.aws`, a plain-HTTP endpoint in the environment, and the settings of a Spark
session. What is given by hand wins, then Spark's, then the profile.
"""

from __future__ import annotations

import configparser
from collections.abc import Iterable, Mapping
from pathlib import Path

from holdfast.errors import ConfigError

# Hadoop's name below `fs.s3a.` to obstore's; from hadoop-aws 3.5 `fs/s3a/Constants.java`.
_S3A = {
    "access.key": "access_key_id",
    "secret.key": "secret_access_key",
    "session.token": "session_token",
    "endpoint": "endpoint",
    "endpoint.region": "region",
}
_PROFILE = {
    "aws_access_key_id": "access_key_id",
    "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token",
    "region": "region",
    "endpoint_url": "endpoint",
}


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


def from_hadoop(settings: Mapping[str, str], *, bucket: str) -> dict[str, str]:
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


def from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what an AWS profile and the environment say and obstore would not take up itself."""
    options: dict[str, str] = {}
    if "AWS_ACCESS_KEY_ID" not in environment:
        options |= _from_profile(environment)
    endpoint = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
    if endpoint:
        options["endpoint"] = endpoint
    return options


def _parse(parser: configparser.ConfigParser, file: str | Path) -> bool:
    """Return whether an AWS file can be parsed; the parser's own errors quote its lines."""
    try:
        parser.read(file)
    except (configparser.Error, UnicodeDecodeError):
        return False
    return True


def _from_profile(environment: Mapping[str, str]) -> dict[str, str]:
    home = Path(environment.get("HOME", "~")).expanduser()
    profile = environment.get("AWS_PROFILE", "default")
    files = {
        environment.get("AWS_SHARED_CREDENTIALS_FILE", home / ".aws/credentials"): profile,
        environment.get("AWS_CONFIG_FILE", home / ".aws/config"): (
            profile if profile == "default" else f"profile {profile}"
        ),
    }
    options: dict[str, str] = {}
    for file, section in files.items():
        parser = configparser.ConfigParser(interpolation=None)
        if not _parse(parser, file):
            raise ConfigError(f"The AWS file {file} cannot be parsed.")
        if parser.has_section(section):
            for theirs, ours in _PROFILE.items():
                if value := parser[section].get(theirs):
                    options.setdefault(ours, value)
    return options
