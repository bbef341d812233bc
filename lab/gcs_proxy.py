"""The XML API of Google Cloud Storage, as far as obstore writes by it, before fake-gcs-server.

The emulator reads and deletes by both of Google's APIs, and creates objects by the JSON API only;
obstore writes by the XML API. So a PUT goes on as the request of the JSON API that says the same.
Whether a condition is met the emulator decides, under its own lock: nothing is decided here.
"""

from __future__ import annotations

import json
import re
from urllib.parse import quote, unquote

from lab.faults.http_messages import BODILESS, pass_body, read_body, read_head
from lab.faults.proxy import Proxy, Stream

_OBJECT = re.compile(r"/(?!storage/|upload/)(?P<bucket>[^/?]+)/(?P<name>[^?]+)")
_CONDITION = "x-goog-if-generation-match"
_COPY_SOURCE = "x-goog-copy-source"


def json_target(method: str, target: str, fields: dict[str, str]) -> str | None:
    """Return what to POST to the JSON API for a PUT of an object; None for other requests."""
    matched = _OBJECT.fullmatch(target)
    if method != "PUT" or matched is None:
        return None
    bucket, name = matched["bucket"], _as_one_part(matched["name"])
    condition, source = fields.get(_CONDITION), fields.get(_COPY_SOURCE)
    if source is None:
        upload = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}"
        return upload if condition is None else f"{upload}&ifGenerationMatch={condition}"
    if condition is not None:  # of a copy, the emulator's JSON API would ignore it
        return None
    source_bucket, _, source_name = source.lstrip("/").partition("/")
    copied = f"/storage/v1/b/{source_bucket}/o/{_as_one_part(source_name)}"
    return f"{copied}/copyTo/b/{bucket}/o/{name}"


class GcsProxy(Proxy):
    """Passes requests on, each PUT of an object by the other API."""

    async def _serve(self, client: Stream, upstream: Stream) -> None:
        while True:
            request = await read_head(client)
            method, target, version = request.first_line.split(" ", 2)
            translated = json_target(method, target, request.fields)
            first_line = f"POST {translated} {version}" if translated else request.first_line
            await upstream.send(
                request.raw.replace(request.first_line.encode(), first_line.encode(), 1)
            )
            await pass_body(client, upstream, request.fields)
            answer = await read_head(upstream)
            status = answer.first_line.split(" ")[1]
            if translated and status == "200":
                await client.send(_created(await read_body(upstream, answer.fields)))
                continue
            await client.send(answer.raw)
            if method != "HEAD" and status not in BODILESS:
                await pass_body(upstream, client, answer.fields)


def _created(answer: bytes) -> bytes:
    """Return the XML API's answer for an object that the JSON API has created."""
    made = json.loads(answer)
    fields = [
        f'ETag: "{made["etag"].strip(chr(34))}"',
        f"x-goog-generation: {made['generation']}",
        "Content-Length: 0",
    ]
    return "\r\n".join(["HTTP/1.1 200 OK", *fields, "", ""]).encode()


def _as_one_part(name: str) -> str:
    """Return a name that is quoted as a path as it is quoted in one part of a path."""
    return quote(unquote(name), safe="")
