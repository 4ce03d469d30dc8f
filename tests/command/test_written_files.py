"""Files that people write or export: every part reads the same in them, or refuses them in the same words."""

import codecs
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from rdflib import Graph
from ses.cli import main
from ses.commands.kb.importing import question
from ses_client.errors import SesError
from ses_client.text_files import read_text
from ses_service.api.app import create_app
from ses_service.knowledge.errors import InvalidDescriptionError
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.store.embedded import EmbeddedStore
from ses_service.members.members_file import MembersFileError, read_members_file
from ses_service.process.runtime import ServiceConfig
from ses_service.security.tokens import TokenFile, TokenFileError
from ses_webface.accounts.oidc import provider_of
from ses_webface.errors import StartError
from smed_monitor.collectors.registry import COLLECTORS
from smed_monitor.config.settings import Target, load
from smed_monitor.config.site import described
from smed_monitor.core.errors import SettingsError

HEAD = """\
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@prefix qudt: <http://qudt.org/schema/qudt/> .
@prefix unit: <http://qudt.org/vocab/unit/> .
@prefix : <https://w3id.org/qstorman/site/written/> .
"""
SYSTEM = """\
:u a qsm:MergerfsUnion ; qsm:name "u" ; qsm:mountPoint "/srv/u" ; qsm:observedAt "n1" .
:n a qsm:Server ; qsm:name "n" .
"""
BRANCH = """\
:{name} a qsm:Branch ; qsm:name "{name}" ; qsm:elementOf :u ; qsm:servedBy :n ; qsm:target "/srv/{name}" ;
    qsm:nominalWriteRate _:b0 .
_:b0 a qudt:QuantityValue ; qudt:hasUnit unit:MegaBYTE-PER-SEC ;
    qudt:numericValue {rate} .
"""
GOOD = HEAD + SYSTEM + BRANCH.format(name="b1", rate="100.0e0")
PREFIXES = "".join(GOOD.partition(SYSTEM)[0])
TORN = GOOD.replace('qsm:name "b1" ;', 'qsm:name "b1" ;;; :x')
QUDT_1 = GOOD.replace("schema/qudt/>", "schema/qudt#>").replace("vocab/unit/>", "vocab/unit#>")
TAKEN = {
    "bom.ttl": codecs.BOM_UTF8 + GOOD.encode(),
    "windows.ttl": codecs.BOM_UTF8 + GOOD.replace("\n", "\r\n").encode(),
    "qudt-1.ttl": QUDT_1.encode(),
    "secure-names.ttl": GOOD.replace("http://qudt", "https://qudt").encode(),
    "triples.nt": Graph().parse(data=GOOD, format="turtle").serialize(format="nt").encode(),
    "graphs.trig": f"{PREFIXES}<urn:g> {{ {GOOD.removeprefix(PREFIXES)} }}".encode(),
}
REFUSED = {  # its line, and what is said of it
    "latin-1.ttl": (GOOD.replace('"u"', '"ü"').encode("latin-1"), 5, "byte 0xFC is not UTF-8"),
    "utf-16.ttl": (GOOD.encode("utf-16"), None, "is UTF-16 text: save it as UTF-8"),
    "empty.ttl": (b"", None, "it says nothing"),
    "comment.ttl": (codecs.BOM_UTF8 + b"# nothing\r\n", None, "it says nothing"),
    "torn.ttl": (codecs.BOM_UTF8 + TORN.replace("\n", "\r\n").encode(), 7, "not Turtle: "),
    "torn.trig": (f"{PREFIXES}<urn:g> {{ :a :b }}\n:c :d }} .".encode(), 5, "not TriG: "),
    "site.jsonld": (b"{}", None, "JSON-LD is not read; rdfpipe"),
    "site.rdf": (b"<rdf/>", None, "RDF/XML is not read; rdfpipe"),
}
FOLDER, NOWHERE = "folder.ttl", "nowhere.ttl"
Way = Callable[[Path], str]
"""Takes a file; returns what is said of it, nothing where it is taken."""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    store = EmbeddedStore(tmp_path_factory.mktemp("store") / "knowledge")
    try:
        yield KnowledgeBase(store.start())
    finally:
        store.stop()


@pytest.fixture(scope="module")
def ways(base: KnowledgeBase) -> dict[str, Way]:
    client = create_app(ServiceConfig(knowledge=base, trust_loopback=True)).test_client()

    def validate(path: Path) -> str:
        result = CliRunner().invoke(main, ["kb", "validate", str(path)])
        return "" if result.exit_code == 0 else result.output.replace(f"{path}:", f"{path}: line ")

    def over_http(path: Path) -> str:
        try:
            answer = client.post(
                "/v1/knowledge/imports", json=question(str(path), "merge") | {"dry_run": True}
            )
        except SesError as error:
            return str(error)
        return "" if answer.status_code == 200 else str(answer.get_json())

    def at_start(path: Path) -> str:
        try:
            base.load_files({str(path): read_text(path)})
        except (InvalidDescriptionError, SesError) as error:
            return str(error)
        ((element,), system) = base.environment().elements, "u/b1"
        assert (element.id, element.nominal_write_rate) == (system, 1e8)
        return ""

    def monitor(path: Path) -> str:
        target = Target(name="n1", collector="node_exporter", url="http://n1:9100/metrics")
        try:
            assert [element.id for element in described(path, [target], COLLECTORS)] == ["u/b1"]
        except SettingsError as error:
            return str(error)
        return ""

    return {"validate": validate, "import": over_http, "start": at_start, "monitor": monitor}


@pytest.mark.parametrize("name", TAKEN)
def test_a_site_that_is_written_oddly_is_read_by_every_part(
    ways: dict[str, Way], tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(TAKEN[name])
    assert {way: take(tmp_path / name) for way, take in ways.items()} == dict.fromkeys(ways, "")


@pytest.mark.parametrize("name", [*REFUSED, FOLDER, NOWHERE])
def test_a_site_that_cannot_be_read_is_refused_by_every_part_in_the_same_words(
    ways: dict[str, Way], tmp_path: Path, name: str
) -> None:
    path, line = tmp_path / name, None
    if name == FOLDER:
        path.mkdir()
        words = f"{path} cannot be read: Is a directory."
    elif name == NOWHERE:
        words = f"There is no file {path}."
    else:
        data, line, words = REFUSED[name]
        path.write_bytes(data)
    for way, take in ways.items():
        said = take(path)
        assert words in said, (way, said)
        assert str(path) in said, (way, said)
        assert line is None or f"line {line}:" in said, (way, said)


@pytest.mark.parametrize(
    ("right", "wrong", "line"), [("unit:MegaBYTE-PER-SEC", "unit:MegaBYTE", 8), ("100.0e0", "-1.0e0", 8)]
)
def test_a_value_that_cannot_be_is_refused_with_its_line_whatever_marks_the_text(
    ways: dict[str, Way], tmp_path: Path, right: str, wrong: str, line: int
) -> None:
    path = tmp_path / "site.ttl"
    path.write_bytes(codecs.BOM_UTF8 + GOOD.replace(right, wrong).replace("\n", "\r\n").encode())
    for way in ("validate", "import", "start"):  # a monitor uses no rates
        said = ways[way](path)
        assert f"line {line}:" in said, (way, said)
        assert "qsm:nominalWriteRate is one positive quantity" in said, (way, said)


def test_blank_nodes_lines_and_bases_of_several_files_are_each_files_own(base: KnowledgeBase) -> None:
    first, second = GOOD, HEAD + BRANCH.format(name="b2", rate="300.0e0")
    base.load_files({"a.ttl": f"@base <urn:other:> .\n{first}", "b.ttl": second})
    assert {element.id: element.nominal_write_rate for element in base.environment().elements} == {
        "u/b1": 1e8,
        "u/b2": 3e8,
    }
    with pytest.raises(InvalidDescriptionError, match=r"b\.ttl, line 6: .*nominalWriteRate"):
        base.load_files({"a.ttl": first, "b.ttl": second.replace("300", "-300")})
    with pytest.raises(InvalidDescriptionError, match=r"b\.ttl, line 9: not Turtle"):
        base.load_files({"a.ttl": first, "b.ttl": f"{second}torn"})


TOML: dict[str, tuple[str, Callable[[Path], object]]] = {
    "tokens": (f'[[token]]\nname = "ä"\nrole = "admin"\nsha256 = "{"0" * 64}"\n', TokenFile),
    "members": (
        '# ä\n[oidc]\nissuer = "https://idp"\naudience = "ses"\n'
        '[[oidc.claim]]\nclaim = "groups"\nvalue = "x"\nvo = "ä"\n',
        read_members_file,
    ),
    "portal": (
        '# ä\n[oidc]\nissuer = "https://idp"\naudience = "ses"\n',
        lambda path: provider_of(path, None),
    ),
    "monitor": (
        '# ä\n[[target]]\nname = "n1"\ncollector = "node_exporter"\nurl = "http://n1:9100/metrics"\n'
        '[[element]]\nid = "u/b1"\ntarget = "n1"\nmount_point = "/srv/b1"\n',
        lambda path: load(path, collectors=COLLECTORS),
    ),
}


@pytest.mark.parametrize("part", TOML)
def test_settings_are_read_alike_by_every_part(tmp_path: Path, part: str) -> None:
    text, read = TOML[part]
    path = tmp_path / "settings.toml"
    path.touch(0o600)
    path.write_bytes(codecs.BOM_UTF8 + text.replace("\n", "\r\n").encode())
    read(path)
    for data, words in (
        (text.encode("latin-1"), f"{path}: line .: the byte 0xE4 is not UTF-8: save the file as UTF-8"),
        (text.encode("utf-16"), f"{path} is UTF-16 text: save it as UTF-8"),
        (f"{text}torn\n".encode(), f"{path} is not TOML: .*line {text.count(chr(10)) + 1},"),
    ):
        path.write_bytes(data)
        with pytest.raises((TokenFileError, MembersFileError, StartError, SettingsError), match=words):
            read(path)
