"""People: the first administrator, accounts with links, VOs and roles."""

import re

from answers import text_of
from ses_webface.accounts.administration import Organisation, organisations_of
from ses_webface.accounts.people import Person
from ses_webface.portal import Portal

PASSWORD = "long enough to keep"


def link_in(answer) -> str:
    match = re.search(r"http://localhost(/welcome/[\w-]+)", answer.text)
    assert match
    return match[1]


def emptied(parts: Portal) -> None:
    for account in parts.accounts.everybody():
        parts.accounts.remove(account.name)


def test_the_first_link_makes_one_administrator(parts, visitor, clock) -> None:
    assert parts.links.for_first() is None, "there are accounts"
    emptied(parts)
    withdrawn, key = parts.links.for_first(), parts.links.for_first()
    assert visitor.get(f"/welcome/{withdrawn}").status_code == 404
    path = f"/welcome/{key}"
    fields = {"name": "ada", "password": PASSWORD, "again": PASSWORD}
    for wrong in ({"password": "short", "again": "short"}, {"again": "another"}, {"name": "no: name"}):
        assert visitor.post(path, {**fields, **wrong}).status_code == 422
    assert parts.accounts.everybody() == ()
    assert visitor.post(path, fields).location == "/people"
    (ada,) = parts.accounts.everybody()
    assert (ada.name, ada.is_admin) == ("ada", True)
    assert "Welcome, ada." in text_of(visitor.get("/people"))
    assert visitor.get(path).status_code == 404
    assert parts.links.for_first() is None


def test_the_first_link_ends_after_a_day_or_with_the_first_account(parts, visitor, clock) -> None:
    emptied(parts)
    old = parts.links.for_first()
    clock.now += 86401
    assert visitor.get(f"/welcome/{old}").status_code == 404
    key = parts.links.for_first()
    parts.accounts.add("eve", PASSWORD)
    assert visitor.get(f"/welcome/{key}").status_code == 404
    assert parts.links.use(key, "mallory", PASSWORD) is None


def test_who_is_added_chooses_a_password_by_a_link(root, visitor, parts) -> None:
    made = root.post("/people", {"name": "carol", "vo": "physics", "role": "manager"})
    path = link_in(made)
    carol = parts.accounts.named("carol")
    assert (carol.vo, carol.role, carol.has_password) == ("physics", "manager of VO physics", False)
    assert visitor.sign_in("carol", "!").status_code == 422
    assert "account <b>carol</b>" in text_of(visitor.get(path))
    entered = visitor.post(path, {"name": "root", "password": PASSWORD, "again": PASSWORD})
    assert entered.location == "/requirements"
    assert visitor.get("/account").status_code == 200
    assert visitor.get(path).status_code == 404
    assert parts.accounts.named("carol").has_password
    assert {account.name for account in parts.accounts.everybody()} == {"alice", "bob", "root", "carol"}


def test_a_manager_sees_the_people_of_their_vo_and_changes_nobody(root, signed_in, parts, alice) -> None:
    parts.accounts.add("mia", PASSWORD, vo="physics", is_manager=True)
    parts.accounts.add("pat", PASSWORD, vo="physics")
    mia = signed_in("mia", PASSWORD)
    page = mia.seen(mia.get("/people"))
    assert "pat" in page
    assert "bob" not in page
    assert "/requirements/vo/physics" in page
    assert "Add an account" not in page
    assert alice.get("/people").status_code == 403
    for path in ("/people/pat", "/people/pat/link", "/people/pat/remove", "/people/pat/sign-out", "/people"):
        assert mia.post(path, {"name": "pat", "role": "admin"}, page="/account").status_code == 403
    assert parts.accounts.named("pat").role == ""


def test_vo_and_role_are_changed_and_the_service_is_told(root, site, parts) -> None:
    page = "/people/alice"
    assert root.post(page, {"vo": "physics", "role": "manager", "name": "bob"}).status_code == 303
    assert parts.accounts.named("alice").role == "manager of VO physics"
    assert parts.accounts.named("bob").role == ""
    refused = root.post(page, {"vo": "", "role": "manager"})
    assert (refused.status_code, "A manager needs a VO" in text_of(refused)) == (422, True)
    last = root.post("/people/root", {"vo": "", "role": ""})
    assert (last.status_code, "last administrator" in text_of(last)) == (422, True)
    assert "VO materials requires" in text_of(root.get(page)), "as the service has it"


def test_what_another_administrator_changed_meanwhile_stays(root, parts) -> None:
    form = root.get("/people/bob").text
    fields = dict(re.findall(r'<input [^>]*name="(was_\w+)"[^>]* value="([^"]*)"', form))
    parts.accounts.change("bob", vo="physics", is_admin=False, is_manager=True)
    root.post("/people/bob", {**fields, "vo": "chemistry", "role": ""}, page="/people/bob")
    bob = parts.accounts.named("bob")
    assert (bob.vo, bob.is_manager) == ("chemistry", True)


def test_somebody_is_signed_out_and_removed(root, signed_in, parts) -> None:
    bob = signed_in("bob")
    root.post("/people/bob/sign-out", {}, page="/people/bob", code=303)
    assert "bob is signed out of 1 browser." in text_of(root.get("/people/bob"))
    assert bob.get("/requirements").status_code == 303
    root.post("/people/bob/remove", {}, page="/people/bob")
    assert parts.accounts.named("bob") is None
    root.post("/people/root/remove", {}, page="/people/root")
    assert parts.accounts.named("root") is not None
    assert root.get("/people/nobody").status_code == 404


def test_of_many_people_the_first_are_listed_and_others_are_found(root, parts, monkeypatch) -> None:
    monkeypatch.setattr("ses_webface.accounts.administration.MAX_LISTED", 2)
    parts.accounts.add("zoe", PASSWORD, vo="physics")
    page = text_of(root.get("/people"))
    assert "The first 2 of 4." in page
    assert "/people/zoe" not in page
    for part in ("ZO", "phys"):
        assert "/people/zoe" in text_of(root.get(f"/people?part={part}"))
    assert "No account fits." in text_of(root.get("/people?part=nobody"))


def test_organisations_are_listed_by_one_look_at_each_account() -> None:
    """A site has tens of thousands of accounts, and may have hundreds of organisations."""
    people = (
        Person(number, name, vo, is_admin=False, is_manager=manages)
        for number, (name, vo, manages) in enumerate(
            (
                ("ann", "physics", False),
                ("bob", "materials", True),
                ("cid", None, False),
                ("dee", "physics", True),
            )
        )
    )
    assert organisations_of(people) == [
        Organisation("materials", ("bob",), ("bob",)),
        Organisation("physics", ("ann", "dee"), ("dee",)),
    ]
