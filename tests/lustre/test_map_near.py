"""``ses map-near`` on a striped file: each stripe is read on the node that holds it, and no line is cut."""

import os
import random
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lov_blobs as lov
import pytest
from lustre_mount import DELAY, LOV, LustreMount
from ses.near.endpoints import spread
from ses.near.map_near import run_all
from ses.near.placing import Site
from ses.near.run_near import Wanted
from ses.near.striping import Stripe, stripes_of
from ses.near.tasks import HERE, tasks_of
from ses_client.errors import NotFoundError
from ses_client.messages.elements import Element
from ses_client.messages.selections import Rates

STRIPE = 1 << 20
OSTS = (4, 1, 2)


def component(start: int, end: int | None, osts: list[int], width: int = 10) -> dict[str, object]:
    return {"start": start, "end": end, "osts": osts, "stripe_size_bytes": width}


def test_stripes_go_round_the_osts_and_the_last_one_ends_with_the_file() -> None:
    assert stripes_of([component(0, None, [7, 3])], 25) == [
        Stripe(0, 10, 7), Stripe(10, 20, 3), Stripe(20, 25, 7),
    ]  # fmt: skip


def test_neighbours_on_one_ost_are_one_stripe() -> None:
    assert stripes_of([component(0, None, [7])], 25) == [Stripe(0, 25, 7)]


def test_components_follow_each_other_and_stripes_count_from_the_beginning_of_the_file() -> None:
    layout = [component(20, None, [1, 2], 20), component(0, 20, [7])]
    assert stripes_of(layout, 70) == [
        Stripe(0, 20, 7), Stripe(20, 40, 2), Stripe(40, 60, 1), Stripe(60, 70, 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "layout",
    [
        [component(0, 20, [1])],
        [component(10, None, [1])],
        [component(0, None, [])],
        [component(0, None, [1], 0)],
    ],
)
def test_what_does_not_cover_the_file_is_refused(layout: list[dict[str, object]]) -> None:
    with pytest.raises(ValueError, match=r"OSTs|ends before"):
        stripes_of(layout, 30)


class Service:
    """A site of which each node named holds some OSTs."""

    def __init__(self, mount: Path, nodes: dict[str, tuple[int, ...]]) -> None:
        self._mount = mount
        self._nodes = nodes

    def elements(self) -> Any:
        osts = [
            Element(
                id=f"lustre/{ost}",
                storage_system="lustre",
                backend="lustre",
                target=str(ost),
                state="active",
                mount_point=str(self._mount),
                available=Rates(read_mb_s=100.0),
            )
            for ost in range(6)
        ]
        return SimpleNamespace(elements=osts)

    def node_classes(self) -> Any:
        classes = [
            SimpleNamespace(
                node_class=node, nodes=node, link_mb_s=1.0, holds=tuple(f"lustre/{ost}" for ost in osts)
            )
            for node, osts in self._nodes.items()
        ]
        return SimpleNamespace(node_classes=classes)

    def node_calibration(self, node: str) -> Any:
        raise NotFoundError(f"{node} was not calibrated.")

    def select_nodes(self, _subject: Any, nodes: str, **_facts: Any) -> Any:
        node = SimpleNamespace(node=nodes, node_class=nodes, distance=0.0, available=None)
        known = [node] if nodes in self._nodes else []
        return SimpleNamespace(candidates=known)


@pytest.fixture
def striped(lustre: LustreMount) -> Path:
    """Lines of all lengths in stripes on three OSTs; many lines cross from one to the next."""
    path, chance = lustre.path / "lines", random.Random(5)
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | DELAY, 0o644)
    os.setxattr(descriptor, LOV, lov.plain(specific=True, pool="", osts=OSTS, size=STRIPE))
    with os.fdopen(descriptor, "wb") as file:
        while file.tell() < 4.5 * STRIPE:
            file.write(b"%d %s\n" % (file.tell(), b"x" * chance.randrange(3000)))
    return path


def wanted(path: Path, **facts: Any) -> Wanted:
    return Wanted((path,), ("cat", "{}"), executor="command", rsh=("sh", "-c", 'exec "$@"', "%n"), **facts)


def test_each_stripe_is_read_where_it_lies_and_no_line_is_cut(lustre: LustreMount, striped: Path) -> None:
    service = Service(lustre.path, {"n1": (4,), "n2": (1, 2)})
    asked = wanted(striped)
    where, reasons = spread(asked, [], lambda: Site(service, "someone"), piece=STRIPE)
    assert reasons == []
    size = striped.stat().st_size
    expected = ["n1", "n2", "n2", "n1", "n2"]
    edges = [*range(0, size, STRIPE), size]
    assert [(extent.start, extent.end, extent.node) for extent in where.extents] == [
        (start, end, node) for (start, end), node in zip(pairwise(edges), expected, strict=True)
    ]
    assert {node: holder.bytes for node, holder in where.holders.items()} == {
        "n1": 2 * STRIPE, "n2": size - 2 * STRIPE,
    }  # fmt: skip
    output: list[bytes] = []
    tasks = tasks_of(where.extents, STRIPE // 2)
    assert not any(task.whole for task in tasks)
    result = run_all(asked, tasks, {"n1": 1, "n2": 1, HERE: 1}, 0, output.append, print, lambda _: None)
    assert (result.status, result.tasks, result.moved) == (0, len(tasks), 0)
    assert b"".join(output) == striped.read_bytes()


def test_a_node_that_holds_every_stripe_gets_the_file(lustre: LustreMount, striped: Path) -> None:
    service = Service(lustre.path, {"n1": (4,), "n2": OSTS})
    where, _ = spread(wanted(striped), [], lambda: Site(service, "someone"), piece=STRIPE)
    assert [(extent.node, extent.whole) for extent in where.extents] == [("n2", True)]


@pytest.mark.parametrize(
    ("nodes", "piece", "why"),
    [
        ({"n1": (4,), "n2": (1, 2)}, 2 * STRIPE, "stripes smaller than a piece"),
        ({"n1": (4,), "n2": (1, 2)}, None, "No one node is known to hold"),
        ({"n1": (4,), "n2": (1,)}, STRIPE, "No one node is known to hold lustre/2"),
    ],
)
def test_what_cannot_be_divided_is_read_from_here(
    lustre: LustreMount, striped: Path, nodes: dict[str, tuple[int, ...]], piece: int | None, why: str
) -> None:
    where, reasons = spread(wanted(striped), [], lambda: Site(Service(lustre.path, nodes), "u"), piece)
    assert [extent.node for extent in where.extents] == [HERE]
    assert why in reasons[0]
