"""The history: who sees what, how a change reads, and undoing it without losing a later one."""

import pytest
from ses_client.errors import RefusedError, UnavailableError
from ses_client.messages.knowledge import Change, State
from ses_client.messages.requirements import Requirement, required

BAD = "<img src=x onerror=alert(1)>"
SITE_THING = "https://w3id.org/qstorman/site/demo/b1"


def _state(
    site, level: str, name: str, *requirements: Requirement, by: str, profile: str | None = None
) -> int:
    revision = site.requirement_set(level, name).revision
    site.acting(by).replace_requirements(level, name, requirements, profile=profile, revision=revision)
    return site.changes().changes[0].number


def _write(rate: float, **more: object) -> Requirement:
    return required(kind="current-write-rate", bound=rate, unit="MB/s", **more)  # type: ignore[arg-type]


@pytest.fixture
def changed(site) -> dict[str, int]:
    """Changes by alice (twice), bob, and of her VO; gives their numbers."""
    return {
        "first": _state(site, "user", "alice", _write(20), by="alice"),
        "second": _state(site, "user", "alice", _write(50, strictness="hard"), by="alice", profile="fast"),
        "bobs": _state(site, "user", "bob", _write(1), by="bob"),
        "vo": _state(site, "vo", "materials", _write(2), by="root"),
    }


def test_everybody_sees_their_own_and_what_is_given_to_them(alice, signed_in, changed) -> None:
    text = alice.get("/history").text
    for number in (changed["first"], changed["second"], changed["vo"]):
        assert f'href="/history/{number}"' in text
    assert f'href="/history/{changed["bobs"]}"' not in text
    assert alice.get(f"/history/{changed['bobs']}").status_code == 404
    everything = signed_in("root").get("/history").text
    assert f'href="/history/{changed["bobs"]}"' in everything
    assert "Default of bob" in everything


def test_a_change_reads_as_before_and_after(alice, changed) -> None:
    text = alice.get(f"/history/{changed['second']}").text
    before, after = text.index("20\u00a0MB/s"), text.index("50\u00a0MB/s")
    assert before < after
    assert "Current write rate" in text
    assert 'class="hard">hard' in text[after:]
    assert ">fast</span>" in text
    assert "alice, 2027-01-15 08:00:00 UTC" in text


def test_a_set_has_a_history_of_its_own(alice, changed) -> None:
    text = alice.get("/history?set=user/alice").text
    assert f'href="/history/{changed["second"]}"' in text
    assert f'href="/history/{changed["vo"]}"' not in text
    assert alice.get("/history?set=user/bob").status_code == 403
    assert alice.get("/history?set=team/x").status_code == 404
    assert "/history?set=user/alice" in alice.get("/requirements/user/alice").text


def test_undo_asks_first_and_is_a_change_itself(alice, site, changed) -> None:
    number = changed["second"]
    question = alice.get(f"/history/{number}/undo").text
    assert f"Undo change {number}?" in question
    assert question.index("50\u00a0MB/s") < question.index("20\u00a0MB/s"), "what is, then what would be"
    assert site.requirement_set("user", "alice").revision == 2, "asking undoes nothing"
    answer = alice.post(f"/history/{number}/undo", {})
    made = site.changes().changes[0]
    assert answer.headers["Location"] == f"/history/{made.number}"
    assert (made.undone, made.author) == (number, "alice")
    restored = site.requirement_set("user", "alice")
    assert (restored.requirements, restored.profile) == ((_write(20),), None)
    assert f"Change {number} is undone, by this one." in alice.get(f"/history/{made.number}").get_data(True)
    assert f"undone by {made.number}" in alice.get("/history").text
    assert "Undo this change" not in alice.get(f"/history/{number}").text


def test_undo_needs_the_forms_token(alice, site, changed) -> None:
    assert alice.client.post(f"/history/{changed['second']}/undo", data={}).status_code == 400
    assert site.requirement_set("user", "alice").revision == 2


def test_a_later_change_is_reported_and_never_lost(alice, site, changed) -> None:
    token = alice.token(f"/history/{changed['second']}/undo")
    later = _state(site, "user", "alice", _write(99), by="alice")
    answer = alice.client.post(f"/history/{changed['second']}/undo", data={"csrf_token": token})
    text = answer.text
    assert answer.status_code == 409
    assert "Changed meanwhile: nothing was undone." in text
    assert f'href="/history/{later}"' in text
    assert site.requirement_set("user", "alice").requirements == (_write(99),)


@pytest.mark.parametrize("which", ["vo", "bobs"])
def test_what_is_not_theirs_is_undone_by_nobody(alice, site, changed, which: str) -> None:
    path = f"/history/{changed[which]}/undo"
    page = alice.get(path)
    answer = alice.post(path, {}, page="/account")
    expected = {"vo": {403}, "bobs": {403, 404}}[which]
    assert {page.status_code, answer.status_code} <= expected
    assert site.requirement_set("vo", "materials").requirements == (_write(2),)
    assert site.requirement_set("user", "bob").requirements == (_write(1),)


def test_an_administrator_undoes_a_change_of_a_vo(signed_in, site, changed) -> None:
    assert signed_in("root").post(f"/history/{changed['vo']}/undo", {}).status_code == 303
    assert site.requirement_set("vo", "materials").requirements == ()


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (
            RefusedError("It cannot be right.", 422, (("b1", "node b1 has no server"),)),
            422,
            "b1: node b1 has no server",
        ),
        (UnavailableError("The knowledge base is away."), 503, "The knowledge base is away."),
    ],
)
def test_what_stands_against_undoing_is_reported(
    alice, site, changed, monkeypatch, error: Exception, status: int, says: str
) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr(site, "undo", refuse)
    answer = alice.post(f"/history/{changed['second']}/undo", {}, code=status)
    assert says in answer.text


def test_a_change_of_the_site_reads_property_by_property(alice, site) -> None:
    """Texts as the service records them."""
    text = (
        "@base <https://w3id.org/qstorman/site/> .\n\n"
        '<demo/b1> a qsm:Branch ;\n    qsm:name "b1" ;\n    qsm:nominalReadRate [ a qudt:QuantityValue ; '
        "qudt:hasUnit unit:MegaBYTE-PER-SEC ; qudt:numericValue 120.0e0 ] ;\n    qsm:servedBy <demo/server>"
    )
    before = f"{text} .\n"
    after = text.replace("120.0e0", "150.0e0") + f' ;\n    rdfs:label "one ; of \\"{BAD}\\""@en .\n'
    change = Change(
        number=41,
        at="2027-01-15T07:43:20+00:00",
        author=f"eve {BAD}",
        reason=f"import of {BAD}.ttl",
        subjects=1,
        subject=SITE_THING,
    )
    site.extra_changes.append((change, State(subject=SITE_THING, before=before, after=after)))
    text = alice.get("/history/41").text
    assert "nominal read rate" in text
    assert text.index("120 megabyte/sec") < text.index("150 megabyte/sec")
    assert "served by" not in text, "what is as it was is not shown"
    assert "one ; of &#34;&lt;img" in text
    assert "of the site's description by administrators" in " ".join(text.split())
    assert "/history/41/undo" not in text
    assert alice.get("/history/41/undo").status_code == 403
    assert BAD not in text + alice.get("/history").text


def test_a_long_history_is_read_in_pages(signed_in, site) -> None:
    for rate in range(1, 61):
        _state(site, "user", "alice", _write(rate), by="alice")
    root = signed_in("root")
    first = root.get("/history").text
    assert 'href="/history?before=11"' in first
    assert 'href="/history/11"' in first
    assert 'href="/history/10"' not in first
    older = root.get("/history?before=11").text
    assert 'href="/history/10"' in older
    assert "Older changes" not in older


def test_own_changes_are_found_behind_those_of_others(alice, site) -> None:
    mine = _state(site, "user", "alice", _write(1), by="alice")
    for rate in range(1, 121):
        _state(site, "user", "bob", _write(rate), by="bob")
    assert f'href="/history/{mine}"' in alice.get("/history").text


@pytest.mark.parametrize("path", ["/history/999", "/history/99999999999999999999", "/history/999/undo"])
def test_a_change_nobody_knows_is_not_found(alice, changed, path: str) -> None:
    assert alice.get(path).status_code == 404


@pytest.mark.parametrize("before", ["x", "-1", "0", "99999999999999999999"])
def test_a_page_that_cannot_be_is_the_first(alice, changed, before: str) -> None:
    answer = alice.get(f"/history?before={before}", code=200)
    assert f'href="/history/{changed["second"]}"' in answer.text


@pytest.mark.parametrize("name", [BAD, 'a"b', "ü & co"])
def test_names_of_sets_are_text_in_the_history(alice, site, name: str) -> None:
    number = _state(site, "application", f"alice:{name}", _write(1), by="alice")
    texts = [alice.get(path).text for path in ("/history", f"/history/{number}", f"/history/{number}/undo")]
    assert all("<img src=x" not in text for text in texts)
    assert all("Application" in text for text in texts)
