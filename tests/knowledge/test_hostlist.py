"""Lists of nodes as Slurm writes them: read, bounded, folded again; classes of nodes are checked."""

import random
import time

import pytest
from ses_service.knowledge.checks.validation import validate
from ses_service.knowledge.hostlist import HostlistError, expanded, folded

PREFIXES = "@prefix qsm: <https://w3id.org/qstorman/ontology#> .\n@prefix : <https://example.org/> .\n"


def test_names_and_ranges_are_read_in_order_and_folded_again() -> None:
    assert expanded("n[01-03,07],login1") == ("n01", "n02", "n03", "n07", "login1")
    assert expanded("r[1-2]c[1-2]") == ("r1c1", "r1c2", "r2c1", "r2c2")
    assert folded(["n01", "n02", "n03", "login1"]) == "login1,n[01-03]"
    assert folded(["odd name", "n1", "n2"]) == "n[1-2],odd name"
    assert expanded("a[1-5/2]b,n[08-10]") == ("a1b", "a3b", "a5b", "n08", "n09", "n10")
    assert folded(["n10", "n9", "n8", "x08", "x09", "x10"]) == "n[8-10],x[08-10]"


@pytest.mark.parametrize(
    "text",
    [
        "[1]" * 9,
        "n" * 257,
        "n" * 250 + "[1-99999]",
        ",".join(f"n{index}[1-9][1-9][1-9]" for index in range(1000)),
        "[" * 60_000,
        "[1" * 30_000,
    ],
)
def test_a_short_text_cannot_name_more_than_is_allowed(text: str) -> None:
    with pytest.raises(HostlistError):
        expanded(text)


def test_reading_a_list_and_folding_it_take_time_in_proportion_to_it() -> None:
    """By processor time of this thread: twice the names must not take many times as long."""
    numbers = random.Random(1)

    def seconds(count: int) -> float:
        text = ",".join(f"n{numbers.randrange(9999)}x{numbers.randrange(9999)}b1" for _ in range(count))
        began = time.thread_time()
        folded(expanded(text))
        return time.thread_time() - began

    assert min(seconds(16_000) for _ in range(3)) < 64 * min(seconds(1_000) for _ in range(3))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "n[1-",
        "a,,b",
        "a/b",
        "n[1-2],",
        "n[1-2/0]",
        "n[1-2/000]",
        "n[3-1]",
        "n[a-b]",
        "@all",
        "n1 n2",
        "n1!n2",
        "n[1-999999999]",
        "[0-999][0-999]",
    ],
)
def test_what_is_no_list_or_too_long_is_refused(text: str) -> None:
    with pytest.raises(HostlistError):
        expanded(text)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (':a a qsm:NodeClass ; qsm:name "a" .', "needs one qsm:nodes"),
        (':a a qsm:NodeClass ; qsm:name "a" ; qsm:nodes "n[1-" .', "is not a list of"),
        (':a a qsm:NodeClass ; qsm:name "a" ; qsm:nodes "n1" ; qsm:uplink :b .', "itself a qsm:NetworkLink"),
        (
            ':a a qsm:NodeClass ; qsm:name "a" ; qsm:nodes "n[1-5]" .\n'
            ':b a qsm:NodeClass ; qsm:name "b" ; qsm:nodes "n[5-9]" .',
            "n5 is in a, too: a node is of one class",
        ),
    ],
)
def test_a_faulty_class_of_nodes_is_reported_by_its_line(classes: str, message: str) -> None:
    faults = [fault for fault in validate(PREFIXES + classes, "site.ttl") if message in fault.message]
    assert faults, message
    assert faults[0].line is not None
