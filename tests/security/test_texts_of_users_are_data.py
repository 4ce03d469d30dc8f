"""A text of a user is a text wherever it comes out: a row of values, a function for each place."""

import csv
import io
import json
import os
import pwd
import re
import subprocess
import sys
import tomllib
import types
import unicodedata
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pyoxigraph
import pytest
from flask import Flask
from prometheus_client.parser import text_string_to_metric_families
from ran import ran
from rdflib import Literal, URIRef
from ses.doctor.mounts import _swappable
from ses.files import write_csv
from ses.literal import literal
from ses.lustre.description import turtle as lustre_turtle
from ses.lustre.mounts import parse_mountinfo
from ses.lustre.targets import FileSystem
from ses.output import console, json_text, line, say, table
from ses.report import page
from ses.setup.contents import Answers, texts
from ses.setup.storage import Storage, Target
from ses.slurm.comment import commented
from ses.union.branches import Branch, Union
from ses.union.branches import turtle as union_turtle
from ses_client.errors import SesError
from ses_client.messages.files import COLUMNS, File, FilePage, Report, Sum
from ses_client.visible import on_one_line
from ses_service.knowledge.queries import serialise
from ses_service.knowledge.statements.turtle_writer import value_text
from ses_service.knowledge.terms import requirement_set_iri, requirement_set_of
from ses_service.model.entities import Level
from ses_service.store.set_aside import repair_command
from ses_webface import pages
from ses_webface.files.downloads import as_csv
from smed_monitor.core.quotas import Kind, Quota
from smed_monitor.quotas.names import Names
from smed_monitor.quotas.page import page as quota_page

sys.path.append(str(Path(__file__).parents[1] / "agent"))

from agent_sources import link

ROOT = Path(__file__).parents[2]
VALUES = [
    "a\nb", "a\rb", "a\r\nb: c", "a\tb", "a\0b", 'a"b', "a'b", "a\\b", "a\\", "<script>alert(1)</script>",
    '" onload="x()', "]]>", "</textarea>", "=cmd|' /C calc'!A0", " =1", "+1", "@SUM(1)", "\uff1d1", "{a}",
    "{{ 7*7 }}", "{0}", "%s%n", "%(a)s", "\x1b[31m", "\x1b]0;mine\x07", "\x9b31m", "\x7f", "\u202egpj.exe",
    "\u2066", "\u2028", "\u200b", "\ufeff", "\U0001f600", os.fsdecode(b"\xff\xfe"), "\ud800", "a,b;c",
    "../../etc/passwd", "..", "/", "-rf", "--help", " a  b ", "\\040", "\\134040", "job=1",
    "a | storage: 9 files on x", "$(id)", "`id`", "$HOME", "a b; id", "*", "#", "a\x0b36 35 8:1 / /x - y",
    "a\x85b", "[[target]]", "'''", "a\\nb", "\\u0022",
]  # fmt: skip
TEXTS = [value for value in VALUES if not any(0xD800 <= ord(part) <= 0xDFFF for part in value)]
NAMES = [value for value in VALUES if "\0" not in value and "\ud800" not in value]  # that a file can have


def is_hidden(text: str, kept: str = "") -> bool:
    """Whether a character steers a terminal or the direction of a text, or is none."""
    return any(
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        or character in "\u061c\u200e\u200f\u202e\u2066\ufeff"
        for character in text
        if character not in kept
    )


def file(value: str) -> File:
    number = dict.fromkeys(COLUMNS)
    return File(**{**number, "placement_id": "1", "state": "ended", "user": value, "application": value,
                   "element": value, "path": value, "job": value})  # fmt: skip


# What comes out as a text for people or for a program, and how it is read back.


def in_table(value: str) -> None:
    for width in ("", "80"):
        stream = io.StringIO()
        out = console(stream, width=int(width or 1_000_000))
        table(out, ["file", "element"], [[value, "b1"]])
        line(out, f"Stored for {value}.")
        assert not is_hidden(stream.getvalue(), "\n\t")


def in_sentence(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    say(f"Stored for {value}.")
    say(f"Stored for {value}.", err=True)
    assert not is_hidden("".join(capsys.readouterr()), "\n\t")


def in_json(value: str) -> None:
    text = json_text({"path": value})
    assert not is_hidden(text, "\n")
    assert json.loads(text) == {"path": value}


def is_row(text: str, value: str) -> None:
    assert not is_hidden(text, "\r\n")
    assert len(text.splitlines()) == 2
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    assert row["path"] in (on_one_line(value), f"'{on_one_line(value)}")
    assert row["path"].strip()[:1] not in tuple("=+-@\uff1d\t\r")


def in_csv(value: str) -> None:
    stream = io.StringIO(newline="")
    write_csv(stream, [{name: getattr(file(value), name) for name in COLUMNS}])
    is_row(stream.getvalue(), value)


def in_csv_of_the_portal(value: str) -> None:
    mark, *text = "".join(as_csv(lambda _after: FilePage(files=(file(value),), next=None)))
    assert mark == "\ufeff", "or Excel takes UTF-8 for another encoding"
    is_row("".join(text), value)


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs


def elements(text: str) -> _Elements:
    assert not is_hidden(text, "\n\t\r")
    text.encode()
    parsed = _Elements()
    parsed.feed(text)
    return parsed


def in_report(value: str) -> None:
    def made(name: str) -> _Elements:
        total = Sum(
            name=name,
            files=1,
            met=1,
            nearly=0,
            missed=0,
            cannot_say=0,
            met_ratio=1.0,
            shortfall=0.0,
            of_forecast=None,
            forecast_files=0,
        )
        report = Report(
            total=total,
            hours=(),
            applications=(total,),
            jobs=(total,),
            elements=(total,),
            causes=(),
            advice=(name,),
            complete=True,
        )
        return elements(page(report, name, 0.0))

    assert made(value).names == made("plain").names


_PORTAL = Flask(__name__)
pages.register(_PORTAL)
_PAGE = (
    '<p title="{{ value }}" data-x="{{ value }}">{{ value }}{{ value|breakable }}</p>'
    "<textarea>{{ value }}</textarea>"
)


def in_portal(value: str) -> None:
    with _PORTAL.app_context():
        parsed = elements(_PORTAL.jinja_env.from_string(_PAGE).render(value=value))
    assert set(parsed.names) <= {"p", "textarea", "wbr", "bdi"}
    assert [name for name, _ in parsed.attributes] == ["title", "data-x"]


def in_metrics(value: str) -> None:
    metrics = quota_page(
        [Quota(value, Kind.USER, 1, value, used_bytes=1.0, limit_bytes=2.0, sampled_at=3.0)]
    ).decode()
    names = [
        sample.labels["name"]
        for family in text_string_to_metric_families(metrics)
        for sample in family.samples
        if "name" in sample.labels
    ]
    assert names == [value.encode("utf-8", "replace").decode()] * 2


def in_turtle_of_the_site(value: str) -> None:
    union = Union("union", value, value, (Branch("b1", value, "RW", None),))
    lustre = FileSystem(name="lfs", mount_point=value, version="", targets=(), pools={})
    for text in (union_turtle(union), lustre_turtle(lustre)):
        assert not is_hidden(text, "\n")
        triples = list(pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.TURTLE))
        assert value in {fact.object.value for fact in triples}
        assert {fact.subject.value.rpartition("/")[2] for fact in triples} <= {"union", "server", "b1", "lfs"}


def in_turtle_of_the_service(value: str) -> None:
    if "\0" in value:
        return
    text = f"<urn:a> <urn:b> {value_text(Literal(value))} ."
    assert not is_hidden(text)
    (triple,) = pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.TURTLE)
    assert triple.object.value == value


def in_sparql(value: str) -> None:
    if "\0" in value:
        with pytest.raises(ValueError, match="not text"):
            serialise(Literal(value))
        return
    iri = serialise(requirement_set_iri(Level.USER, value))
    text = f"SELECT (STR({serialise(Literal(value))}) AS ?x) ({iri} AS ?y) {{}}"
    (solution,) = pyoxigraph.Store().query(text)
    assert solution["x"].value == value
    assert requirement_set_of(URIRef(solution["y"].value)) == (Level.USER, value)
    with pytest.raises(ValueError, match="not an IRI"):
        serialise(URIRef(f"urn:<{value}>"))


def in_toml(value: str) -> None:
    target = Target(value, value, url=value, paths=(value,))
    site = Storage("s", value, 1, "", (target,))
    settings = tomllib.loads(
        texts(Answers(Path("/etc"), (site,), ("host",), ()))[Path("/etc/qstorman/smed.toml")]
    )
    (read,) = settings["target"]
    assert (read["name"], read["collector"], read["paths"]) == (value, value, [value])
    assert read.get("url", "") == value


def in_comment(value: str) -> None:
    text = commented("approved", value)
    assert text.startswith("approved | storage: ")
    assert text.isascii()
    assert text.isprintable()


SINKS_OF_ANY: list[Callable[[str], None]] = [
    in_table,
    in_json,
    in_csv,
    in_csv_of_the_portal,
    in_report,
    in_portal,
]
SINKS_OF_TEXT: list[Callable[[str], None]] = [
    in_metrics, in_turtle_of_the_site, in_turtle_of_the_service, in_sparql, in_toml, in_comment,
]  # fmt: skip


@pytest.mark.parametrize("sink", SINKS_OF_ANY, ids=lambda sink: sink.__name__)
def test_any_text_stays_a_text(sink: Callable[[str], None]) -> None:
    for value in VALUES:
        sink(value)


@pytest.mark.parametrize("sink", SINKS_OF_TEXT, ids=lambda sink: sink.__name__)
def test_any_text_of_unicode_stays_a_text(sink: Callable[[str], None]) -> None:
    for value in TEXTS:
        sink(value)


def test_any_text_stays_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    for value in VALUES:
        in_sentence(value, capsys)


def test_bytes_that_are_no_text_are_refused_where_they_cannot_be_written() -> None:
    for value in sorted({*VALUES} - {*TEXTS}):
        with pytest.raises(SesError, match=r"is no UTF-8, and so cannot be described; rename it\."):
            literal(value)
        in_comment(value)


def test_a_user_whose_name_is_no_text_is_on_the_page_of_quotas(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in VALUES:
        monkeypatch.setattr(pwd, "getpwuid", lambda _number, name=value: types.SimpleNamespace(pw_name=name))
        in_metrics(Names()(Kind.USER, 7))


def test_a_command_to_paste_is_one_command(tmp_path: Path) -> None:
    """The next steps of ses doctor, and what puts a ledger back, name a path as one word."""
    for number, value in enumerate(NAMES):
        if "/" in value or value in ("..", "."):
            continue
        branch = tmp_path / str(number) / value
        branch.mkdir(parents=True)
        branch.chmod(0o777)
        (finding,) = _swappable(str(branch))
        for command in (finding.mend.partition(": ")[2], repair_command(branch / "ledger.sqlite3")):
            words = subprocess.run(
                ["sh", "-c", f"set -- {command}\nprintf '%s\\0' \"$@\""],
                capture_output=True,
                check=True,
                timeout=20,
            ).stdout.split(b"\0")[:-1]
            assert os.fsencode(branch) in words
            assert len(words) in (3, 4, 6), words


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    probe = Path(__file__).parent / "probes/shown.cpp"
    return link(tmp_path_factory.mktemp("shown") / "shown", probe)


def test_an_event_of_the_agent_is_one_line_and_steers_no_terminal(shown: Path) -> None:
    values = [os.fsencode(value) if "\ud800" not in value else b"\xed\xa0\x80" for value in VALUES]
    done = subprocess.run([shown], input=b"".join(value + b"\0\1\0" for value in values), capture_output=True,
                          check=True, timeout=60)  # fmt: skip
    events = done.stderr.decode().splitlines()
    assert len(events) == len(values)
    assert all(re.match(r"\d{4}-\d\d-\d\dT\S+ warning: file ", event) for event in events)
    assert not is_hidden("".join(events))
    printed = done.stdout.decode().split("\n")[:-1]
    assert [text.encode() for text in printed if "\\" not in text] == [
        value for value, text in zip(values, printed, strict=True) if "\\" not in text
    ]
    assert printed[VALUES.index("\u202egpj.exe")] == r"\u202egpj.exe"
    assert printed[VALUES.index("\x9b31m")] == r"\x9b31m"


def test_an_event_of_a_server_is_one_line_and_steers_no_terminal() -> None:
    script = """
import json, logging, sys, structlog
from ses_listen.logs import log_to_stderr
log_to_stderr("info")
for value in json.load(sys.stdin):
    structlog.get_logger().info("event", name=value, **{"key " + value: value})
    logging.getLogger("x").warning("of %s", value)
    try:
        raise ValueError(value)
    except ValueError:
        structlog.get_logger().exception("failed")
"""
    done = ran([sys.executable, "-c", script], input=json.dumps(VALUES))
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert len(events) == 3 * len(VALUES)
    assert [event["name"] for event in events[::3]] == VALUES
    assert not is_hidden(done.stderr, "\n")


def as_the_kernel_writes(name: bytes) -> bytes:
    return re.sub(rb"[ \t\n\\]", lambda match: b"\\%03o" % ord(match[0]), name)


def test_a_mount_point_is_read_as_it_is_and_is_no_other(shown: Path) -> None:
    """A user mounts a directory of any name: it is one mount, of that name, and of no Lustre."""
    names = [f"/mnt/{name}" for name in NAMES]
    written = [as_the_kernel_writes(os.fsencode(name)) for name in names]
    text = b"".join(
        b"9 1 0:9 / %s rw,nosuid shared:1 - lustre %s:/lfs rw\n" % (escaped, b"n" + escaped)
        for escaped in written
    )
    done = subprocess.run([shown, "mounts"], input=text, capture_output=True, check=True, timeout=60)
    printed = done.stdout.split(b"\0")[:-1]
    assert printed[::3] == [os.fsencode(name) for name in names]
    assert set(printed[1::3]) == {b"lustre"}
    assert printed[2::3] == [b"n" + os.fsencode(name) + b":/lfs" for name in names]
    assert [mount.mount_point for mount in parse_mountinfo(text)] == names


def test_the_portal_has_no_place_where_a_value_is_not_escaped() -> None:
    sources = sorted((ROOT / "webface/ses_webface").rglob("*.html"))
    assert len(sources) > 20
    for source in sources:
        text = source.read_text()
        assert not re.search(r"\|\s*safe\b|autoescape", text), source
        assert not re.search(r"=\{\{", text), f"{source}: an attribute without quotation marks"
        assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=", text), f"{source}: a script in a page"
    scripts = sorted((ROOT / "webface/ses_webface/static/js").glob("*.js"))
    assert scripts
    for source in scripts:
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", source.read_text()
        ), source


def test_every_word_of_the_command_line_goes_through_one_place() -> None:
    """What ses prints beside its tables is printed by ses.output, but for what is data."""
    data = {"commands/kb/export.py", "commands/discover.py", "commands/profile.py", "cli.py", "output.py",
            "commands/token.py", "commands/place/place.py"}  # fmt: skip
    folder = ROOT / "libses/python/ses"
    paths = {
        str(path.relative_to(folder)) for path in folder.rglob("*.py") if "click.echo(" in path.read_text()
    }
    assert paths <= data
