"""The costliest requests of an application: made from its contract, and measured.

Of each operation one part at a time (a member of the body, a parameter) is as large or as hostile as its
limits allow, with the rest small and right, so that the part is looked at and not refused for another.
What is measured is the processor time of the thread that answers, and of the store that it asks, which other
work of the machine does not change.
"""

from __future__ import annotations

import copy
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import quote

from werkzeug.test import EnvironBuilder, run_wsgi_app

BODY = 2**20 - 512  # bytes; the servers refuse more
HEAD = 60 * 1024  # bytes, with something left for the other headers
SMALL = "small and right"  # of each operation
OMIT = object()
STORE = "store"  # among the extensions of an application: the process of its store
Path = tuple[str | int, ...]

# Repeated up to the length that is allowed; what they are hostile to is their own affair.
PIECES = (
    "a", "a!", "é", "ﷺ", "e\u0301\u0316", "\u0130", "9", "-", " ", "\t", "\n", "\\", "'", '"', "%", "%25",
    "&", ";", "/", "../", "//a", ".", "a.", "*", "a*", "?", "[", "[]", "[0-9],", "[1-9][1-9]", "n[1-2]",
    "n1,", "(", "(a+)+", "{", "${", "{{", "<", "<a>", "<!--", "]]>", "@", "@prefix a: <b> .", "a:b ", "_:a ",
    "^^", "#", "=", "a=b;", "1e9", "1_", "0x", "10 MB/s ", "2026-01-01T00:00:00", "T", ":", "+", ",", ",a",
    "|", "\u0000", "\ud800", "😀",
)  # fmt: skip


def texts(length: int, rng: random.Random) -> Iterator[str]:
    """Hostile texts of a length."""
    for piece in PIECES:
        yield (piece * (length // len(piece) + 1))[:length]
    yield "a" * (length - 1) + "!"
    yield "9" * (length - 1) + "x"
    part = min(length, 2**16)
    names = (f"n{rng.randrange(10**6)}x{rng.randrange(10**6)}b1," for _ in range(part // 8))
    yield "".join(names)[:part].rstrip(",")
    yield ",".join(f"[{index}-{index + 2}]" for index in range(0, 3 * (part // 8), 3))[:part]
    yield "".join(rng.choices("abc/.,-[]019 ", k=part))


NUMBERS = (
    "0",
    "-0",
    "1",
    "-1",
    "0.1",
    "1e308",
    "1e-308",
    "5e-324",
    "9" * 4000,
    "9" * 100_000,
    "1e999999999",
    "0." + "1" * 9999,
)


UNKNOWN = {f"a{number}": 0 for number in range(BODY // 14)}


@dataclass
class Request:
    """One request; the cost is in seconds of processor time, once it was measured."""

    method: str
    path: str
    what: str
    query: str = ""
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    cost: float = 0.0
    status: int = 0


Made: TypeAlias = tuple[str, Callable[[], Request]]


def measure(app: Any, request: Request, environ: dict[str, str]) -> Request:
    """Let the application answer; sets what it cost."""
    builder = EnvironBuilder(
        path=request.path, method=request.method, query_string=request.query, data=request.body,
        headers=request.headers, environ_base=environ,
    )  # fmt: skip
    given = builder.get_environ()
    builder.close()
    began = _spent(app)
    _, status, _ = run_wsgi_app(app, given, buffered=True)
    request.cost, request.status = _spent(app) - began, int(status[:3])
    return request


def _spent(app: Any) -> float:
    store = app.extensions.get(STORE)
    clock = None if store is None else (~store << 3) | 2  # clock_getcpuclockid of a process, as Linux has it
    return time.thread_time() + (0.0 if clock is None else time.clock_gettime(clock))


class Contract:
    """Requests from an OpenAPI document; ``right`` has values, by name, that are right.

    ``OMIT`` leaves a member out.  Under a path ``right`` has those that are right there alone.
    """

    def __init__(self, document: dict[str, Any], right: dict[str, Any], rng: random.Random) -> None:
        self._document = document
        self._everywhere = self._right = right
        self._made: dict[int, list[str]] = {}
        self._rng = rng

    def _texts(self, length: int) -> list[str]:
        """Return hostile texts of a length, made once."""
        if length not in self._made:
            self._made[length] = list(texts(length, self._rng))
        return self._made[length]

    def operations(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Return path, method and description of each."""
        paths = self._document["paths"]
        return [
            (path, method, operation) for path, all_ in paths.items() for method, operation in all_.items()
        ]

    def requests(self, path: str, method: str, operation: dict[str, Any]) -> Iterator[Made]:
        """Yield what each request of one operation is, and what makes it."""
        known = {parameter["name"]: parameter for parameter in operation.get("parameters", ())}
        self._right = {**self._everywhere, **self._everywhere.get(path, {})}
        needed = [
            name
            for name, parameter in known.items()
            if parameter["in"] == "query" and parameter.get("required")
        ]
        plain = path
        for name in known:
            plain = plain.replace(f"{{{name}}}", quote(str(self._right.get(name, "x"))))
        schema = self._body(operation)
        small = None if schema is None else self.small(schema)
        make = _Maker(method.upper(), small, {name: str(self._right.get(name, "x")) for name in needed})
        for name, parameter in known.items():
            for text in self._texts(HEAD // 3):
                if parameter["in"] == "path":
                    before, _, after = path.partition(f"{{{name}}}")
                    if "{" in before + after:
                        continue
                    asked = partial(_in_path, before, text, after)
                    yield make(asked, f"path {name}={text[:12]!r}")
                else:
                    yield make(plain, f"query {name}={text[:12]!r}", query=partial(_in_query, name, text))
            limit = self._resolved(parameter["schema"]).get("maxLength")
            if parameter["in"] == "query" and limit:
                for text in self._texts(limit):
                    yield make(plain, f"query {name}={text[:12]!r}", query=partial(_in_query, name, text))
            if parameter["in"] == "query":
                for number in NUMBERS:
                    yield make(plain, f"query {name}={number[:9]}", query=f"{name}={number[:HEAD]}")
                yield make(
                    plain, f"query {name} again and again", query="&".join([f"{name}=1"] * (HEAD // 8))
                )
                most = self._resolved(parameter["schema"]).get("maximum")
                if most:
                    yield make(plain, f"query {name} at most", query=f"{name}={most:.0f}")
        yield make(plain, SMALL)
        yield make(plain, "many parameters", query="&".join(f"x{index}=1" for index in range(HEAD // 8)))
        if schema is None:
            yield make(plain, "a body for nothing", raw=b"[" * BODY)
            return
        for raw in self._malformed():
            yield make(plain, f"body {raw[:12]!r}", raw=raw)
        for where, member in self._members(schema, ()):
            for value, what in self._worst(member):
                yield make(
                    plain,
                    f"{'.'.join(map(str, where))}={what}",
                    body=partial(_with, where=where, value=value),
                )

    def small(self, schema: dict[str, Any], depth: int = 0) -> Any:
        """Return a value that is right, with all members."""
        schema = self._resolved(schema)
        if "enum" in schema:
            return schema["enum"][0]
        if "const" in schema:
            return schema["const"]
        kind = schema.get("type")
        if kind == "object":
            return {
                name: self._right[name] if name in self._right else self.small(member, depth + 1)
                for name, member in schema.get("properties", {}).items()
                if self._right.get(name) is not OMIT
            }
        if kind == "array":
            return [self.small(schema["items"], depth + 1) for _ in range(max(1, schema.get("minItems", 1)))]
        if kind == "string":
            return (schema.get("examples") or ["x" * max(1, schema.get("minLength", 1))])[0]
        if kind == "boolean":
            return False
        return schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)

    def _members(self, schema: dict[str, Any], where: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
        schema = self._resolved(schema)
        yield where, schema
        if schema.get("type") == "object":
            for name, member in schema.get("properties", {}).items():
                if self._right.get(name) is OMIT:
                    continue
                yield from self._members(member, (*where, name))
        elif schema.get("type") == "array":
            yield from self._members(schema["items"], (*where, 0))

    def _worst(self, schema: dict[str, Any]) -> Iterator[tuple[Any, str]]:
        kind = schema.get("type")
        if kind == "string" and "enum" not in schema:
            limits = {schema.get("maxLength", BODY // 3), BODY // 3}
            for length in sorted(limits):
                for text in self._texts(min(length, BODY // 3)):
                    yield text, f"{len(text)} of {text[:12]!r}"
        elif kind in ("number", "integer"):
            for number in NUMBERS:
                yield _Raw(number), number[:12]
            for bound in ("maximum", "exclusiveMaximum"):
                if bound in schema:
                    yield schema[bound], bound
        elif kind == "array":
            sample = self.small(schema["items"])
            count = min(schema.get("maxItems", BODY), BODY // (len(json.dumps(sample)) + 12))
            yield [sample] * count, f"{count} equal"
            yield [_numbered(sample, number) for number in range(count)], f"{count} different"
            yield [sample] * (BODY // (len(json.dumps(sample)) + 2)), "too many"
            yield [0] * (BODY // 3), "too many that are wrong"
        elif kind == "object":
            values = schema.get("additionalProperties")
            if isinstance(values, dict):
                sample = self.small(values)
                each = len(json.dumps(sample)) + 14
                count = min(schema.get("maxProperties", BODY), BODY // each)
                yield {f"a{number}": sample for number in range(count)}, f"{count} members"
                for text in self._texts(1000):
                    yield (
                        {f"{text}{number}": sample for number in range(BODY // 6100)},
                        f"members {text[:12]!r}",
                    )
            yield UNKNOWN, "unknown members"
        yield _Raw("[" * (BODY // 2) + "]" * (BODY // 2)), "nested lists"

    def _malformed(self) -> Iterator[bytes]:
        for piece in (
            b"[",
            b'{"a":',
            b'"',
            b"1",
            b" ",
            b"\\",
            b"{}",
            b'{"a":0,',
            b"\xff",
            b'"\\ud800',
            b"-",
            b"null,",
        ):
            yield (piece * BODY)[:BODY]
        yield b"{" + b",".join([b'"a":0'] * (BODY // 7)) + b"}"
        yield b'"' + b"\\u0041" * (BODY // 6 - 2) + b'"'

    def _body(self, operation: dict[str, Any]) -> dict[str, Any] | None:
        content = operation.get("requestBody", {}).get("content", {})
        return content["application/json"]["schema"] if content else None

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        while True:
            if "$ref" in schema:
                schema = self._document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
            elif "anyOf" in schema:
                schema = next(option for option in schema["anyOf"] if option.get("type") != "null")
            elif len(schema.get("allOf", ())) == 1:
                schema = schema["allOf"][0]
            else:
                return schema


class _Raw(float):
    """A number, or whatever else, that stands in JSON as it is written."""

    written: str

    def __new__(cls, written: str) -> _Raw:
        raw = super().__new__(cls, 0.0)
        raw.written = written
        return raw


class _Maker:
    def __init__(self, method: str, small: Any, needed: dict[str, str]) -> None:
        self._method = method
        self._needed = needed
        self._small = small

    def __call__(
        self,
        path: str | Callable[[], str],
        what: str,
        *,
        query: str | Callable[[], str] = "",
        body: Callable[[Any], Any] | None = None,
        raw: bytes | None = None,
    ) -> Made:
        return what, lambda: self._made(path, what, query, body, raw)

    def _made(
        self,
        path: str | Callable[[], str],
        what: str,
        query: str | Callable[[], str],
        body: Callable[[Any], Any] | None,
        raw: bytes | None,
    ) -> Request:
        path, query = (part if isinstance(part, str) else part() for part in (path, query))
        needed = (f"{name}={quote(value)}" for name, value in self._needed.items() if f"{name}=" not in query)
        query = "&".join((*needed, query) if query else needed)
        said = self._small if body is None else body(self._small)
        data = raw if raw is not None else b"" if said is None else _written(said)
        headers = {"Content-Type": "application/json"} if data else {}
        return Request(self._method, path, what, query, data[:BODY], headers)


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"))[: HEAD - 100]


def _in_path(before: str, text: str, after: str) -> str:
    return before + _quoted(text).replace("/", "%2F") + after


def _in_query(name: str, text: str) -> str:
    return f"{name}={_quoted(text)}"


def _written(value: Any) -> bytes:
    raws: list[str] = []

    def marked(node: Any) -> Any:
        if isinstance(node, _Raw):
            raws.append(node.written)
            return f"raw-{len(raws) - 1}-raw"
        if isinstance(node, dict):
            return {name: marked(each) for name, each in node.items()}
        return [marked(each) for each in node] if isinstance(node, list) else node

    text = json.dumps(marked(value), ensure_ascii=False)
    for number, raw in enumerate(raws):
        text = text.replace(f'"raw-{number}-raw"', raw)
    return text.encode("utf-8", "surrogatepass")


def _with(small: Any, where: Path, value: Any) -> Any:
    if not where:
        return value
    made = copy.deepcopy(small)
    inside = made
    for part in where[:-1]:
        inside = inside[part]
    inside[where[-1]] = value
    return made


def _numbered(value: Any, number: int) -> Any:
    """Return it with other texts: ids and names must often differ."""
    if isinstance(value, dict):
        return {
            name: _numbered(each, number) if name in _TOLD_APART else each for name, each in value.items()
        }
    if isinstance(value, str):
        digits = str(number)
        return value[: -len(digits)] + digits if len(value) > len(digits) else f"{value}{digits}"
    return value


_TOLD_APART = (
    "placement_id",
    "element",
    "user",
    "name",
    "path",
    "id",
    "storage_system",
    "application",
    "kind",
)
