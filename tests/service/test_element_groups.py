"""Elements in sums: by tier, server or pool, with what is filtered out, and by exporter."""

from typing import Any

import pytest
from ses_service.decision.element_groups import By, coarse
from ses_service.decision.exporters import exporters
from ses_service.model.entities import ElementState, Observation

MB, GB = 1e6, 1e9


def seen(name: str, at: float, **more: Any) -> Observation:
    idle = {"current_read_rate": 0.0, "current_write_rate": 0.0, "free_bytes": 40 * GB, "size_bytes": 80 * GB}
    return Observation(name, at, **{**idle, **more})


@pytest.fixture
def tiers(serve: Any, site: Any, clock: Any) -> Any:
    """Two of flash on s1, four of disk on s1 to s4, one of another system without tier; all seen."""
    named = [
        *(site.element(f"f{at}", tier="flash", server="s1") for at in range(2)),
        *(site.element(f"d{at}", tier="disk", server=f"s{1 + at}") for at in range(4)),
        site.element("scratch/o", tier=None, server="s9"),
    ]
    service = serve(site(*named)).refresh()
    return service.see([seen(element.id, clock() - 1) for element in named])


def groups(service: Any, query: str = "") -> dict[str, Any]:
    answer = service.get(f"/v1/element-groups{query}", code=200)
    return answer.get_json()


def test_groups_sum_what_is_offered_and_count_how_much_is_left(tiers: Any, clock: Any) -> None:
    tiers.see(
        [
            seen("union/f0", clock() - 1),
            seen("union/f1", clock() - 1, current_write_rate=90 * MB),
            seen("union/d0", clock() - 1, state="stale"),
            seen("union/d1", clock() - 1, current_read_rate=None, current_write_rate=None),
        ]
    )
    body = groups(tiers, "?by=tier&system=union")
    assert (body["elements"], body["by"], body["unit"]) == (6, "tier", "MB/s")
    assert body["choices"] == {"tier": 2, "server": 4}
    assert body["systems"] == ["scratch", "union"]
    disk, flash = body["groups"]
    assert (disk["value"], disk["elements"], disk["usable"], disk["now"]) == ("disk", 4, 0, None)
    assert disk["fifths"] == [4, 0, 0, 0, 0, 0], "what nobody sees is nothing to count on"
    assert (flash["value"], flash["usable"], flash["whole"], flash["backend"]) == (
        "flash",
        2,
        200,
        "mergerfs",
    )
    listed = {element["id"]: element for element in tiers.get("/v1/elements").get_json()["elements"]}
    offered = [listed[f"union/f{at}"]["available"]["write_mb_s"] for at in range(2)]
    assert flash["now"] == pytest.approx(sum(offered))
    assert flash["fifths"][0] == 0
    assert (flash["fifths"][5], sum(flash["fifths"][1:5])) == (1, 1)


def test_free_space_needs_no_load_but_a_sample_that_is_not_too_old(tiers: Any, clock: Any) -> None:
    dry = seen("union/d0", clock() - 1, current_read_rate=None, current_write_rate=None)
    tiers.see([dry, seen("union/d1", clock() - 1000)])
    disk, flash = groups(tiers, "?by=tier&system=union&measure=free")["groups"]
    assert (disk["usable"], disk["now"], disk["fifths"]) == (1, 40, [3, 0, 0, 1, 0, 0])
    assert flash["usable"] == 0
    listed = {
        element["id"]: element["observation"] for element in tiers.get("/v1/elements").get_json()["elements"]
    }
    assert listed["union/d0"]["state"] == "ok"
    assert listed["union/d1"]["state"] == "stale", "the service counts on it no more"


def test_what_takes_no_files_is_not_usable_until_that_is_over(serve: Any, site: Any, clock: Any) -> None:
    drained = site.element("b0", tier="disk", state=ElementState.DRAINING, state_until=clock() + 10)
    service = serve(site(drained)).refresh()
    service.see([seen("union/b0", clock())])
    assert groups(service)["groups"][0]["usable"] == 0
    clock.time += 11
    service.see([seen("union/b0", clock())])
    assert groups(service)["groups"][0]["usable"] == 1


@pytest.mark.parametrize(
    ("query", "count", "by"),
    [
        ("", 7, "server"),
        ("?limit=3", 7, "tier"),
        ("?limit=2", 7, "tier"),
        ("?tier=", 1, "server"),
        ("?tier=disk&server=s2", 1, "tier"),
        ("?pool=", 7, "server"),
        ("?by=pool", 7, "server"),
        ("?system=none", 0, None),
        ("?tier=tape", 0, None),
    ],
)
def test_elements_are_chosen_by_what_they_have(tiers: Any, query: str, count: int, by: str | None) -> None:
    body = groups(tiers, query)
    assert (body["elements"], body["by"]) == (count, by)
    if "limit" not in query:
        assert sum(group["elements"] for group in body["groups"]) == count
    if "by" not in query and "limit" not in query:
        assert len(tiers.get(f"/v1/elements{query}").get_json()["elements"]) == count


def test_groups_and_elements_come_in_pages(tiers: Any) -> None:
    whole = groups(tiers, "?by=server")
    assert whole["groups_total"] == 5
    parts = [groups(tiers, f"?by=server&limit=3&offset={at}")["groups"] for at in (0, 3, 6)]
    assert [*parts[0], *parts[1]] == whole["groups"]
    assert parts[2] == []
    listed = tiers.get("/v1/elements?offset=5&limit=1").get_json()["elements"]
    assert [element["id"] for element in listed] == ["union/d3"]
    assert tiers.get("/v1/elements?limit=0").status_code == 422


def test_the_finest_groups_that_fit_are_taken_else_the_fewest() -> None:
    counts = {By.TIER: 3, By.SERVER: 900, By.POOL: 12}
    assert coarse(counts, 400) is By.POOL
    assert coarse(counts, 1000) is By.SERVER
    assert coarse(counts, 2) is By.TIER
    assert coarse({By.TIER: 1, By.SERVER: 900}, 400) is By.TIER
    assert coarse({}, 400) is None


def test_elements_that_are_full_soon_are_named_the_first_one_first(tiers: Any, clock: Any) -> None:
    begin = clock()
    for hour in range(26):
        clock.time = begin + hour * 3600
        lost = {"union/f0": 1 * GB, "union/d0": 2 * GB, "union/d1": 0.01 * GB, "union/d2": -1 * GB}
        free = {name: 90 * GB - hour * by for name, by in lost.items()}
        tiers.runtime.space.take(
            [seen(name, clock(), free_bytes=left) for name, left in free.items()], clock()
        )
    tiers.see([seen(name, clock()) for name in lost])
    body = groups(tiers)
    assert [element["element"] for element in body["full_soon"]] == ["union/d0", "union/f0"]
    assert body["full_soon"][0]["full_in_days"] == pytest.approx(40 / 48, abs=0.02)
    assert body["full_soon_total"] == 2
    assert groups(tiers, "?tier=flash")["full_soon_total"] == 1
    assert groups(tiers, "?full_within_days=1")["full_soon_total"] == 1


def test_exporters_with_trouble_come_first(tiers: Any, clock: Any) -> None:
    tiers.see(
        [
            seen("union/f0", clock() - 2, target="http://b"),
            seen("union/f1", clock() - 1, target="http://b"),
            seen("union/d0", clock() - 1, target="http://z"),
            seen("union/d1", clock() - 900, target="http://z", detail="timed out"),
            seen("union/d2", clock() - 3, target="http://z", state="stale", detail="no such device"),
            Observation("union/d3", None, target="http://z", state="missing"),
        ]
    )
    body = tiers.get("/v1/exporters").get_json()
    assert [exporter["target"] for exporter in body["exporters"]] == ["", "http://z", "http://b"]
    nowhere, trouble, sound = body["exporters"]
    assert (nowhere["missing"], nowhere["oldest_seconds"]) == (1, None)
    assert (trouble["elements"], trouble["ok"], trouble["stale"], trouble["missing"]) == (4, 1, 2, 1)
    assert (trouble["oldest_seconds"], trouble["details"]) == (900, ["no such device", "timed out"])
    assert (sound["ok"], sound["oldest_seconds"]) == (2, 2)
    cut = tiers.get("/v1/exporters?limit=1").get_json()
    assert (len(cut["exporters"]), cut["total"]) == (1, 3)
    assert exporters([], clock()) == []
