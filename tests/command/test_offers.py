"""What `ses nodes publish` writes: of each class of nodes the elements that no other equals in all."""

from types import SimpleNamespace
from typing import Any

from ses.slurm.offers import offers
from ses_client.messages.selections import Rates


def element(name: str, write: float | None, read: float | None, free: float | None, system: str = "u") -> Any:
    seen = None if free is None else SimpleNamespace(free_bytes=free * 1e9)
    return SimpleNamespace(
        id=f"{system}/{name}",
        storage_system=system,
        available=Rates(read_mb_s=read, write_mb_s=write),
        observation=seen,
    )


def nodes(text: str, link: float | None = None, systems: tuple[str, ...] | None = None) -> Any:
    return SimpleNamespace(name="c", nodes=text, link_mb_s=link, uplink_mb_s=None, storage_systems=systems)


def lines(elements: list[Any], classes: list[Any]) -> list[str]:
    head, *rows = offers(elements, classes, 1000.9).splitlines()
    assert head == "ses-offers 2 1000"
    return rows


def test_only_what_no_other_equals_is_written() -> None:
    fast, large, small = (
        element("fast", 900, 900, 1),
        element("large", 90, 90, 50),
        element("small", 80, 80, 1),
    )
    same = element("same", 90, 90, 50)
    assert lines([small, large, same, fast], [nodes("n[1-2]")]) == [
        "u/fast 900.000 900.000 1.000 n[1-2]",
        "u/large 90.000 90.000 50.000 n[1-2]",
    ]


def test_each_class_has_what_its_own_link_leaves_of_what_it_mounts() -> None:
    fast, other = element("fast", 900, 500, 1), element("only", 50, 50, 1, "v")
    classes = [nodes("n1", link=100), nodes("n2", systems=("v",)), nodes("n3", systems=("w",))]
    assert lines([fast, other], classes) == [
        "u/fast 100.000 100.000 1.000 n1",
        "v/only 50.000 50.000 1.000 n2",
        "- 0.000 0.000 0.000 n3",
    ]


def test_what_is_not_known_refuses_nothing() -> None:
    assert lines([element("dark", None, None, None), element("known", 9, 9, 9)], [nodes("n1")]) == [
        "u/dark - - - n1"
    ]


def test_nodes_that_are_too_many_to_be_written_are_left_out() -> None:
    assert lines([element("e", 1, 1, 1)], [nodes("n" * 70_000)]) == ["u/e 1.000 1.000 1.000 -"]
