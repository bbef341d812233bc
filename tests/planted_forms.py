"""200 planted secrets, as they are found in options, paths, offsets, contracts and errors."""

from __future__ import annotations

from tests.planted_secrets import secret

_MIDDLES = ("", "/", "+", "%2F", "-._~")
"""Of the secret itself; its ends are known by `find_leaks`."""
_NAMED = (
    "fs.s3a.secret.key={s}",
    "fs.s3a.access.key = {s}",
    "spark.hadoop.fs.azure.account.key.acme.dfs.core.windows.net={s}",
    "fs.azure.account.oauth2.client.secret={s}",
    "https://acme.blob.core.windows.net/lake/x?sv=2024&se=2026&sig={s}",
    "wasbs://lake@acme.blob.core.windows.net/x?sp=r&sig={s}",
    "https://lake.s3.amazonaws.com/x?X-Amz-Signature={s}&X-Amz-Date=1",
    "https://h/x?X-Amz-Security-Token={s}",
    "jdbc:postgresql://db.example:5432/gold?user=me&password={s}",
    "jdbc:mysql://me:{s}@db.example/gold",
    "jdbc:sqlserver://db.example:1433;user=me;password={s};encrypt=true",
    "jdbc:oracle:thin:me/{s}@db.example:1521:gold",
    "jdbc:snowflake://acme.snowflakecomputing.com/?private_key_pwd={s}",
    "postgresql://me:{s}@db.example/gold",
    "mongodb+srv://me:{s}@cluster.example/gold",
    "amqps://me:{s}@queue.example/vhost",
    "redis://:{s}@cache.example:6379/0",
    "s3a://KEY:{s}@lake/in",
    "https://me:{s}@git.example/repo",
    'o.a.k.common.security.plain.PlainLoginModule required username="me" password="{s}";',
    "ScramLoginModule required username='me' password='{s}';",
    'OAuthBearerLoginModule required clientId="me" clientSecret="{s}";',
    "ssl.keystore.password={s}",
    "ssl.key.password: '{s}'",
    "basic.auth.user.info.password={s}",
    "Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey={s}",
    "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={s};EndpointSuffix=x",
    "eventhubs.sasToken={s}",
    "{{'aws_secret_access_key': '{s}', 'region': 'x'}}",
    '{{"client_secret": "{s}"}}',
    "--password {s}",
    "password: {s}",
    "AWS_SESSION_TOKEN={s}",
    "/mnt/in/token={s}/part=1",
    "snowflake.sfPassword={s}",
)
_SHAPED = (
    "Authorization: Bearer {s}",
    "-----BEGIN RSA PRIVATE KEY-----\n{s}\n-----END RSA PRIVATE KEY-----",
    "ssl.keystore.key=-----BEGIN PRIVATE KEY----- {s} -----END PRIVATE KEY-----",
    "found eyJhbGciOiJIUzI1NiJ9.{s}.sig here",
    "cloned with ghp_{s} today",
    "webhook xoxb-{s}",
    "workspace dapi0123456789{s}",
)
_SHAPED_MIDDLES = ("", "x1", "Ab9", "07")

PLANTED: dict[str, tuple[str, str]] = {
    f"{form} {middle}": (text.format(s=planted), planted)
    for forms, middles in ((_NAMED, _MIDDLES), (_SHAPED, _SHAPED_MIDDLES))
    for form, text in enumerate(forms, start=100 if forms is _SHAPED else 0)
    for middle in middles
    for planted in (secret(middle),)
}
"""By name: a text with a secret in it, and the secret."""
assert len(PLANTED) >= 200
