"""The OpenAPI document: made from routes and models, kept in ``ses-service/openapi.yaml``."""

import json
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeAlias

from apiflask import APIFlask
from ses_client.messages.message import Message

from ses_service.api.answers import add_messages
from ses_service.api.problems import MEDIA_TYPE

Json: TypeAlias = dict[str, Any]
Responses: TypeAlias = dict[int | str, dict[str, str | dict[str, dict[str, Any]]]]

TITLE = "QStorMan selection service"
SESSIONS = "/v1/sessions"
"""Where a token is asked for: the one question of the interface that needs none."""
_PACKAGE = "qstorman-ses-service"

try:
    VERSION = version(_PACKAGE)
except PackageNotFoundError:
    VERSION = "0"

_PROBLEMS = {
    400: "The body is not JSON, or the request cannot be read.",
    401: "No token, or one that is not known.",
    403: "The caller's role may not do this.",
    404: "What the path names does not exist.",
    409: "It cannot be done in the present state.",
    412: "The set has another revision than If-Match says.",
    413: "The body is too large.",
    415: "The body is not declared as JSON.",
    422: "The request cannot be right; `errors` says where.",
    503: "Something the service needs is away, or it has too much to do; try again, after `Retry-After`.",
}
_PLAIN = re.compile(r"^[A-Za-z/$][A-Za-z0-9_./$-]*$")
_NOT_TEXT = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_BODY = (400, 413, 415, 422)
_DESCRIPTION = """Ranks storage elements by their distance from what an application needs, sends nodes what
their programs choose from, and explains every decision.

Rates are MB/s and capacities GB (decimal) unless a name says bytes; times are seconds since the epoch;
null is unknown.  Errors are problem+json (RFC 9457) with `type` `urn:qstorman:problem:NAME`."""


def also(status: int, description: str, media_type: str, schema: Json) -> Responses:
    """Return the documentation of one more answer a route may give."""
    return {status: {"description": description, "content": {media_type: {"schema": schema}}}}


def answers(message: type[Message], *statuses: int, body: bool = False) -> Responses:
    """Return the documentation of what a route answers, and of the errors it may answer with instead.

    Every route may answer 401, 403 and, when there is too much to do, 503; ``body`` adds what any JSON
    body can get wrong.
    """
    documented = says(message)
    for status in sorted({401, 403, 503, *statuses, *(_BODY if body else ())}):
        schema = {"$ref": "#/components/schemas/Problem"}
        documented.update(also(status, _PROBLEMS[status], MEDIA_TYPE, schema))
    return documented


def says(message: type[Message], status: int = 200, description: str = "Successful response") -> Responses:
    """Return the documentation of a message that a route may answer with."""
    schema = {"$ref": f"#/components/schemas/{message.__name__}"}
    return also(status, description, "application/json", schema)


def install(app: APIFlask) -> None:
    """Set what the document says about the service as a whole."""
    app.config.update(
        INFO={"description": _DESCRIPTION, "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        AUTO_SERVERS=False,
        AUTO_404_RESPONSE=False,
        AUTO_VALIDATION_ERROR_RESPONSE=False,
        AUTO_AUTH_ERROR_RESPONSE=False,
        AUTO_OPERATION_ID=True,
        SECURITY_SCHEMES={"token": {"type": "http", "scheme": "bearer"}},
    )
    app.spec_processor(_finish)


def document(app: APIFlask) -> str:
    """Return the document as YAML, as it is committed."""
    head = "# The contract of ses-service.  Made by `ses-service openapi`; a test compares both."
    return "\n".join([head, *_yaml(json.loads(json.dumps(app.spec)), "")]) + "\n"


def _finish(spec: Json | str) -> Json | str:
    assert isinstance(spec, dict), "the document is kept as JSON"
    spec["tags"] = [{"name": name} for name in dict.fromkeys(tag["name"] for tag in spec["tags"])]
    schemas = spec["components"]["schemas"]
    for name, schema in list(schemas.items()):
        for nested, definition in schema.pop("$defs", {}).items():
            schemas.setdefault(nested, definition)
        short = name.rpartition(".")[2]
        if short != name:
            schemas.setdefault(short, schemas.pop(name))
    _shorten(spec)
    add_messages(schemas, _named(spec))
    spec["components"]["schemas"] = {name: schemas[name] for name in sorted(schemas)}
    for path, operations in spec["paths"].items():
        for operation in operations.values():
            if "requestBody" in operation:
                operation["requestBody"]["required"] = True
            guarded = path.startswith("/v1/") and path != SESSIONS
            operation["security"] = [{"token": []}] if guarded else []
            if not path.startswith("/v1/"):
                for status in ("401", "403"):
                    operation["responses"].pop(status, None)
    return spec


def _shorten(node: Any) -> None:
    """Point every reference to ``Outer.Inner`` to ``Inner``."""
    if isinstance(node, dict):
        target = node.get("$ref")
        if isinstance(target, str):
            folder, _, name = target.rpartition("/")
            node["$ref"] = f"{folder}/{name.rpartition('.')[2]}"
        for value in node.values():
            _shorten(value)
    elif isinstance(node, list):
        for value in node:
            _shorten(value)


def _named(node: Any) -> Iterator[str]:
    """Yield the names of the schemas that are referred to."""
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _named(child)
    if isinstance(node, dict) and isinstance(node.get("$ref"), str):
        yield node["$ref"].rpartition("/")[2]


def _yaml(node: Any, indent: str) -> Iterator[str]:
    """Yield the lines of a mapping or sequence; scalars are plain words or JSON, which YAML contains."""
    pairs = node.items() if isinstance(node, dict) else ((None, value) for value in node)
    for key, value in pairs:
        lead = f"{indent}- " if key is None else f"{indent}{_scalar(key)}: "
        if not isinstance(value, dict | list) or not value:
            yield lead + _scalar(value)
        elif key is not None:
            yield lead.rstrip()
            yield from _yaml(value, indent + "  ")
        else:
            first, *rest = _yaml(value, indent + "  ")
            yield lead + first.lstrip()
            yield from rest


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.match(value) and value not in _NOT_TEXT:
        return value
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("e+", ".0e+") if isinstance(value, float) and "." not in text else text
