"""Why a requirement applies: pure, and the page that says it."""

import pytest
from fake_selection import KINDS
from ses_client.messages.requirements import (
    Effective,
    PassedOver,
    Requirement,
    ResolvedRequirement,
    Subject,
    required,
)
from ses_client.messages.vocabulary import Profile, Vocabulary
from ses_webface.requirements.resolution import explain

FAST = Profile(
    profile="fast", label="fast", definition="", requirements=(required("current-write-rate", 200, "MB/s"),)
)
WORDS = Vocabulary(kinds=KINDS, profiles=(FAST,))


def _write(rate: float, **more: str) -> Requirement:
    return required(kind="current-write-rate", bound=rate, unit="MB/s", **more)


def _at(level: str, requirement: Requirement, profile: str | None = None) -> Requirement:
    named = {"profile": profile} if profile else {}
    return ResolvedRequirement(**requirement, level=level, level_name="x", **named)


def test_what_applies_and_what_is_passed_over_are_listed_by_level() -> None:
    hidden = "hidden by the requirement of user x"
    effective = Effective(
        subject=Subject(user="alice"),
        requirements=(_at("user", _write(200), "fast"),),
        passed_over=(
            PassedOver(**_at("application", _write(4)), reason="not valid yet"),
            PassedOver(**_at("user", _write(3)), reason="not valid any more"),
            PassedOver(**_at("site", _write(1)), reason=hidden),
        ),
    )
    (kind,) = explain(effective, WORDS)
    assert [(statement.requirement.bound, statement.reason) for statement in kind.statements] == [
        (4, "not valid yet"), (3, "not valid any more"), (200, ""), (1, hidden),
    ]  # fmt: skip
    assert kind.applying == effective.requirements[0]


def test_a_kind_nobody_describes_comes_last_and_keeps_its_name() -> None:
    stated = (_at("user", required("aaa", 1, "x")), _at("user", _write(1)))
    lines = explain(Effective(subject=Subject(user="alice"), requirements=stated), WORDS)
    assert [(line.name, line.kind is None) for line in lines] == [
        ("current-write-rate", False),
        ("aaa", True),
    ]


def test_the_page_names_every_level_and_links_those_one_may_see(alice, site) -> None:
    for level, name, rate in (("site", "default", 1), ("vo", "materials", 2), ("application", "alice:dd", 4)):
        site.replace_requirements(level, name, (_write(rate),), revision=0)
    page = alice.get("/requirements/applied?application=dd").text
    assert "at least <b>4\u00a0MB/s</b></p>" in page
    assert page.count("Does not count: hidden by the requirement of application alice:dd.") == 2
    for link in ("application/alice:dd", "vo/materials", "site/default"):
        assert f'href="/requirements/{link}"' in page
    assert "/requirements/applied?application=dd" in alice.get("/requirements?application=dd").text


def test_only_administrators_look_at_others(alice, site, signed_in) -> None:
    site.replace_requirements("user", "bob", (_write(4),), revision=0)
    assert alice.get("/requirements/applied?user=bob").status_code == 403
    page = signed_in("root").get("/requirements/applied?user=bob")
    text = page.text
    assert page.status_code == 200
    assert "files of bob" in text
    assert ">user bob</span>" in text
    assert 'href="/requirements/user/bob"' not in text, "a set that is not theirs to open"


@pytest.mark.parametrize(
    ("query", "form"),
    [
        ("application=a/b", "Write a name of at most 63 bytes without a slash"),
        ("user=a:b", "letters and digits of any script"),
        ("application=" + "x" * 300, "Write a name of at most 63 bytes without a slash"),
    ],
)
def test_names_that_cannot_be_are_said_and_kept(signed_in, query: str, form: str) -> None:
    answer = signed_in("root").get(f"/requirements/applied?{query}")
    assert answer.status_code == 422
    assert form in answer.text
    assert f'value="{query.partition("=")[2]}"' in answer.text
