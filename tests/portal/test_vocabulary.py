"""Kinds and profiles as data: what is described appears, what is not keeps its plain name."""

import pytest
from fake_selection import KINDS
from ses_client.messages.requirements import required
from ses_client.messages.vocabulary import Kind, Profile, Vocabulary

BAD = '"><img src=x onerror=alert(1)>'
LATENCY = Kind(
    kind="latency",
    label="latency",
    definition="How long a small read may take.",
    unit="ms",
    units=["us", "µs", "μs", "ms", "s"],
    sizes={"us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1.0, "s": 1e3},
    bound="maximum",
    default_weight=2.0,
)
FIELD = "kind_latency"


@pytest.fixture
def described(site):
    """The site with a further kind and a profile, and texts that would be markup."""
    evil = Kind(kind="revision", label=f"evil {BAD}", definition=BAD, unit="s", units=["s"], sizes={"s": 1.0})
    profile = Profile(
        profile="mean",
        label=f"mean {BAD}",
        definition=BAD,
        requirements=(required("latency", 2.0, "ms", at_most=True),),
    )
    site.words = Vocabulary(kinds=(*KINDS, LATENCY, evil), profiles=(profile,))
    return site


def test_a_described_kind_can_be_edited(alice, described) -> None:
    page = alice.get("/requirements/user/alice").text
    for words in ("Latency", "at most", "How long a small read may take.", "<option>μs</option>"):
        assert words in page
    assert "<option>us</option>" not in page, "one symbol for one unit"
    data = {"revision": "0", f"{FIELD}-bound": "500", f"{FIELD}-unit": "μs", f"{FIELD}-strictness": "soft"}
    assert alice.post("/requirements/user/alice", data).status_code == 303
    (saved,) = described.requirement_set("user", "alice").requirements
    asked = required("latency", 0.5, "ms", weight=2.0, strictness="soft", at_most=True, stated_unit="μs")
    assert saved == asked, "its own default weight"
    shown = alice.get("/requirements/user/alice").text
    assert 'name="kind_latency-bound" value="500"' in shown


def test_a_kind_named_like_a_field_of_the_form_is_a_kind(alice, described) -> None:
    data = {"revision": "0", "kind_revision-bound": "3", "kind_revision-unit": "s",
            "kind_revision-strictness": "hard"}  # fmt: skip
    assert alice.post("/requirements/user/alice", data).status_code == 303
    assert [requirement.kind for requirement in described.requirement_set("user", "alice").requirements] == [
        "revision"
    ]


def test_texts_of_the_vocabulary_are_never_markup(alice, described) -> None:
    data = {"revision": "0", "profile": "mean", "kind_revision-bound": "3", "kind_revision-unit": "s",
            "kind_revision-strictness": "soft"}  # fmt: skip
    assert alice.post("/requirements/user/alice", data).status_code == 303
    pages = ["/requirements", "/requirements/user/alice", "/requirements/applied", "/history", "/history/1"]
    texts = [alice.get(page).text for page in [*pages, "/history/1/undo"]]
    texts.append(alice.post("/requirements/user/alice/preview", data, page="/account").text)
    assert all("<img" not in text.replace('<img src="/static', "") for text in texts)
    assert all("&lt;img src=x" in texts[place] for place in (0, 1, 2, 4, 6))


def test_a_kind_that_is_not_described_any_more_is_shown_by_name(alice, described) -> None:
    data = {"revision": "0", f"{FIELD}-bound": "2", f"{FIELD}-unit": "ms", f"{FIELD}-strictness": "soft"}
    alice.post("/requirements/user/alice", data)
    described.words = Vocabulary(kinds=KINDS)
    assert "latency" in alice.get("/requirements").text
    assert "Latency" not in alice.get("/requirements/user/alice").text


def test_the_form_stays_while_the_service_is_away(alice, described) -> None:
    """The kinds last known make the form, so that what was typed is kept."""
    token = alice.token("/requirements/user/alice")
    described.down = "The selection service cannot be reached."
    data = {"csrf_token": token, "revision": "0", f"{FIELD}-bound": "7", f"{FIELD}-unit": "s"}
    answer = alice.client.post("/requirements/user/alice", data={**data, f"{FIELD}-strictness": "hard"})
    assert answer.status_code == 503
    assert 'name="kind_latency-bound" value="7"' in answer.text


def test_without_any_kind_known_nothing_is_saved(alice, site) -> None:
    site.words = Vocabulary()
    alice.post("/requirements/user/alice", {"revision": "0"}, page="/account", code=503)
    assert site.requirement_set("user", "alice").revision == 0


def test_a_vocabulary_without_sizes_is_not_read() -> None:
    data = {"kind": "k", "label": "k", "definition": "", "unit": "s", "units": ["s"], "bound": "minimum",
            "default_weight": 1}  # fmt: skip
    assert Kind.of({**data, "sizes": {"s": 1}}).units == ("s",)
    with pytest.raises(KeyError):
        Kind.of({**data, "sizes": {}})
    with pytest.raises(ValueError, match="no size"):
        Kind.of({**data, "sizes": {"s": 0}})
