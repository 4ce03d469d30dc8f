"""The health page: what is well, what is broken, who is silent, and that a gap is never shown as health."""

import re

from answers import text_of
from ses_client.messages.elements import Check, Observation, Readiness
from ses_client.messages.nodes import HeardNode, HeardNodes, NodeClass, NodeClasses


def row_of(page: str, name: str) -> str:
    match = re.search(rf'<th scope="row"[^>]*>{re.escape(name)}</th>(.*?)</tr>', page)
    assert match, name
    return match[1]


def test_each_part_says_whether_it_is_well_its_age_and_version(root, site) -> None:
    checks = (
        Check(name="knowledge-base", ok=False, detail="gone away"),
        Check(name="monitor", ok=True, detail="version 0.9.1"),
        Check(name="decision", ok=True, detail="spread 0.3 (default 0.2)"),
    )
    site.ready = Readiness(ready=True, checks=checks, version="1.0.0")
    page = text_of(root.get("/health"))
    assert "broken" in row_of(page, "Knowledge base")
    assert "gone away" in row_of(page, "Knowledge base")
    monitor = row_of(page, "Monitor")
    assert 'badge warn">0.9.1' in monitor, "another version than the service's stands out"
    assert "0.4 s ago" in monitor
    assert "1.0.0" in row_of(page, "Selection service")
    assert "Settings of the decision: spread 0.3 (default 0.2)." in page


def test_silent_and_missing_nodes_are_named(root, site, clock) -> None:
    site.heard = HeardNodes(
        nodes=(
            HeardNode(
                node="n1", since=clock.now - 900, heard_at=clock.now - 1, version="1.0.0", open_placements=4
            ),
        ),
        silent=(
            HeardNode(
                node="n7", since=clock.now - 9000, heard_at=clock.now - 7200, version="", open_placements=0
            ),
        ),
    )
    described = NodeClass(
        node_class="gpu",
        nodes="gpu[1-4]",
        count=4,
        heard=1,
        open_files=0,
        storage_systems=None,
        link_mb_s=None,
        uplink=None,
        uplink_mb_s=None,
    )
    site.classes = NodeClasses(node_classes=(described,))
    page = text_of(root.get("/health"))
    assert "2 h ago" in row_of(page, "n7")
    assert "just now" in row_of(page, "n1")
    assert "3 of 4 nodes are not connected now" in page
    assert "1 of version 1.0.0" in page


def test_exporters_are_listed_and_the_rest_is_counted(root, site, make_element) -> None:
    site.places = [
        make_element(
            "b1", 40.0, observation=Observation(state="ok", age_seconds=0.4, target="http://n1:9100/metrics")
        ),
        make_element(
            "b2",
            40.0,
            observation=Observation(state="stale", age_seconds=90.0, target="http://n1:9100/metrics"),
        ),
        make_element("b3", 40.0, observation=None),
    ]
    site.exporters_more = 7
    page = text_of(root.get("/health"))
    assert "none: the monitor does not watch them" in page
    seen = row_of(page, "http://n1:9100/metrics")
    assert re.findall(r'<td class="num"[^>]*>(.*?)</td>', seen) == [
        "2", "1", '<span class="badge warn">1</span>', "0", "90 s",
    ]  # fmt: skip
    assert "7 more exporters are not listed." in page


def test_while_the_service_is_away_nothing_is_said_to_be_well(root, site) -> None:
    site.down = "The selection service cannot be reached."
    answer = root.get("/health")
    page = text_of(answer)
    assert answer.status_code == 200
    assert page.count("The selection service cannot be reached.") == 1
    assert "broken" in row_of(page, "Selection service")
    assert page.count('badge good">ok<') == 1, "the portal alone"


def test_it_is_for_administrators(alice) -> None:
    assert alice.get("/health").status_code == 403
    assert 'href="/health"' not in alice.get("/requirements").text
