"""Why a requirement applies: pure, and the page that says it."""

from __future__ import annotations

import pytest
from selection_memory import KINDS
from ses_webface.requirements.resolution import explain, first_that_apply, in_order_of_levels
from ses_webface.selection_model import Requirement, RequirementSet
from ses_webface.vocabulary import Profile, Vocabulary

NOW = 1_800_000_000.0
FAST = Profile("fast", "fast", "", (Requirement("current-write-rate", 200, "MB/s"),))
WORDS = Vocabulary(KINDS, (FAST,))


def _write(rate: float, **more: str) -> Requirement:
    return Requirement("current-write-rate", rate, "MB/s", **more)


SETS = (
    RequirementSet("site", "default", (_write(1),)),
    RequirementSet("user", "alice", (_write(3, valid_until="2020-01-01T00:00:00Z"),), profile="fast"),
    RequirementSet("application", "alice:dd", (_write(4, valid_from="2090-01-01T00:00:00Z"),)),
    RequirementSet("application", "alice:tar", (_write(5),)),
)


def test_the_first_that_applies_now_counts_and_the_rest_have_their_reason() -> None:
    ordered = in_order_of_levels(SETS, application="alice:dd")
    (kind,) = explain(ordered, first_that_apply(ordered, WORDS, NOW).values(), WORDS, NOW)
    assert [(one.requirement.minimum, one.profile, one.fate) for one in kind.statements] == [
        (4, None, "future"), (3, None, "over"), (200, "fast", "applies"), (1, None, "hidden"),
    ]  # fmt: skip
    assert kind.applying is not None
    assert (kind.applying.requirement.minimum, kind.applying.profile) == (200, "fast")


def test_a_kind_nobody_describes_comes_last_and_keeps_its_name() -> None:
    sets = [RequirementSet("user", "alice", (Requirement("aaa", 1, "x"), _write(1)))]
    found = explain(sets, (), WORDS, NOW)
    assert [(one.name, one.kind is None) for one in found] == [("current-write-rate", False), ("aaa", True)]


def test_the_page_names_every_level_and_links_those_one_may_see(alice, site) -> None:
    for level, name, rate in (("site", "default", 1), ("vo", "materials", 2), ("application", "alice:dd", 4)):
        site.replace_requirements(level, name, (_write(rate),), revision=0, acting="root")
    page = alice.get("/requirements/applied?application=dd").get_data(as_text=True)
    assert "at least <b>4\u00a0MB/s</b></p>" in page
    assert page.count("Does not count: a more particular level states this kind.") == 2
    for link in ("application/alice:dd", "vo/materials", "site/default"):
        assert f'href="/requirements/{link}"' in page
    assert "/requirements/applied?application=dd" in alice.get("/requirements?application=dd").get_data(
        as_text=True
    )


def test_only_administrators_look_at_others(alice, site, signed_in) -> None:
    site.replace_requirements("user", "bob", (_write(4),), revision=0, acting="bob")
    assert alice.get("/requirements/applied?user=bob").status_code == 403
    page = signed_in("root").get("/requirements/applied?user=bob")
    text = page.get_data(as_text=True)
    assert page.status_code == 200
    assert "files of bob" in text
    assert ">user bob</span>" in text
    assert 'href="/requirements/user/bob"' not in text, "a set that is not theirs to open"


@pytest.mark.parametrize("query", ["application=a/b", "user=a:b", "application=" + "x" * 300])
def test_names_that_cannot_be_are_not_found(alice, query: str) -> None:
    assert alice.get(f"/requirements/applied?{query}").status_code == 404
