"""Promises of what validation says about a Turtle text: every fault, on its line, in words."""

from pathlib import Path

import pytest
from ses_service.knowledge.checks.validation import Finding, refused, validate

EXAMPLES = Path(__file__).resolve().parents[2] / "ontology/examples"
SITE = (EXAMPLES / "lustre-site.ttl").read_text()


def line_of(text: str, part: str) -> int:
    """Return the line of a text that holds a part of it."""
    numbers = [number for number, line in enumerate(text.splitlines(), 1) if part in line]
    assert len(numbers) == 1, part
    return numbers[0]


def broken(good: str, bad: str) -> tuple[str, list[Finding]]:
    """Return the example site with its first ``good`` part made ``bad``, and what is found in it."""
    assert good in SITE
    text = SITE.replace(good, bad, 1)
    return text, validate(text, "site.ttl")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ttl")), ids=lambda path: path.name)
def test_every_example_is_faultless(path: Path) -> None:
    assert validate(path.read_text(), path.name) == []


@pytest.mark.parametrize(
    ("good", "bad", "node", "message"),
    [
        ("qudt:numericValue 8.0e0", "qudt:numericValue -8.0e0", "ost0", "positive quantity"),
        (
            "qudt:numericValue 5.0e0 ; qudt:hasUnit unit:GigaBYTE-PER-SEC",
            "qudt:numericValue 5.0e0 ; qudt:hasUnit unit:TeraBYTE",
            "ost0",
            "unit of data rate",
        ),
        ("qsm:Draining", "qsm:Drained", "ost3", "state of an element"),
        ("qsm:state qsm:Active", "qsm:status qsm:Active", "ost0", "did you mean qsm:state?"),
        ('qsm:name "OST0001"', 'qsm:name "OST 1"', "ost1", "letters, digits"),
    ],
)
def test_a_fault_is_found_on_the_line_it_stands_on(good: str, bad: str, node: str, message: str) -> None:
    text, faults = broken(good, bad)
    assert [fault.node for fault in faults] == [node]
    assert faults[0].line is not None
    assert bad in text.splitlines()[faults[0].line - 1]
    assert message in faults[0].message
    assert faults[0].in_words().startswith(f"line {faults[0].line}: {node}: ")
    assert refused(faults)


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ('qsm:name "scratch" ;', 'qsm:name "scratch" ; qsm:mountPoint "/scratch" ;', "has no qsm:mountPoint"),
        ("qsm:DirectorySet", "qsm:CephFileSystem", "exactly one qsm:mountPoint"),
        (":scratch1 a qsm:Directory", ":scratch1 a qsm:DataPool", "is a qsm:Directory"),
        ('qsm:target "/scratch1"', 'qsm:target "scratch1"', "is its absolute path"),
    ],
)
def test_a_set_of_directories_has_absolute_ones_and_no_mount_point(good: str, bad: str, message: str) -> None:
    site = (EXAMPLES / "directories-site.ttl").read_text()
    assert good in site
    assert [fault for fault in validate(site.replace(good, bad, 1), "site.ttl") if message in fault.message]


def test_two_elements_of_one_name_are_both_pointed_at() -> None:
    text, faults = broken('qsm:name "OST0001"', 'qsm:name "OST0000"')
    assert [fault.node for fault in faults] == ["ost0", "ost1"]
    for fault in faults:
        assert fault.line is not None
        assert 'qsm:name "OST0000"' in text.splitlines()[fault.line - 1]
        assert "ost0 and ost1 share the name 'OST0000'" in fault.message


def test_an_element_without_a_server_is_found_where_it_begins() -> None:
    text, faults = broken("qsm:servedBy :oss1 ;", "")
    assert [(fault.line, fault.node) for fault in faults] == [(line_of(text, ":ost0 a qsm:"), "ost0")]
    assert "one server (qsm:servedBy)" in faults[0].message


def test_a_requirement_of_an_unknown_kind_is_refused_on_its_line() -> None:
    text = (EXAMPLES / "requirements.ttl").read_text().replace("qsm:AverageReadRate", "qsm:Speed")
    faults = validate(text, "requirements.ttl")
    assert {fault.line for fault in faults} == {line_of(text, "qsm:Speed")}
    assert any("one known kind" in fault.message and "Speed" in fault.message for fault in faults)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("@prefix : <x:> .\n:a :b\n\n:c :d .\n", 4),
        ("nonsense", 1),
        ("@prefix : <x:> .\n:a :b \"open\n .\n", 2),
        (":a :b :c .", 1),
    ],
)  # fmt: skip
def test_a_syntax_error_is_a_finding_with_its_line(text: str, line: int) -> None:
    faults = validate(text, "broken.ttl")
    assert [(fault.line, fault.node, fault.severity) for fault in faults] == [(line, "broken.ttl", "error")]
    assert "not Turtle" in faults[0].message


def test_several_faults_come_in_the_order_of_their_lines() -> None:
    text = SITE.replace("qsm:Draining", "qsm:Drained").replace("8.0e0", "-8.0e0")
    faults = validate(text, "site.ttl")
    assert len(faults) >= 3
    assert [fault.line or 0 for fault in faults] == sorted(fault.line or 0 for fault in faults)
