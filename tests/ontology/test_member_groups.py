"""Members of a POSIX group belong to the virtual organisation that names it."""

import grp
import os
import pwd
from pathlib import Path
from typing import Any

import pytest
from patience import wait_until
from ses_service.api.app import create_app
from ses_service.decision.needs import Needs
from ses_service.decision.resolve import index_sets
from ses_service.knowledge.checks.validation import validate
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.store.embedded import EmbeddedStore
from ses_service.members.homes import Membership, posix_groups
from ses_service.model.entities import Environment, Kind, Level, Requirement, RequirementSet
from ses_service.process.runtime import ServiceConfig, runtime

SITE = (Path(__file__).resolve().parents[2] / "ontology/examples/union-site.ttl").read_text()
ME = pwd.getpwuid(os.getuid()).pw_name
MY_GROUP = grp.getgrgid(pwd.getpwuid(os.getuid()).pw_gid).gr_name
GROUPS = {"alice": frozenset({"users", "mat"}), "bob": frozenset({"users"})}
PLACES = Environment(home_vo={"carol": "physics"}, member_groups=(("mat", "materials"), ("users", "others")))


class Hosts:
    """A machine that knows some users, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.now = 0.0
        self.groups = dict(GROUPS)

    def groups_of(self, user: str) -> frozenset[str] | None:
        self.asked.append(user)
        return self.groups.get(user)


def test_a_user_belongs_to_the_first_organisation_of_whose_group_they_are() -> None:
    membership = Membership(Hosts().groups_of)
    homes = membership.homes(PLACES)
    assert [homes.get(user) for user in ("alice", "bob", "carol", "dave")] == [None, None, "physics", None]
    membership.step()
    assert [homes.get(user) for user in ("alice", "bob", "carol", "dave")] == [
        "materials", "others", "physics", None
    ]  # fmt: skip


def test_the_machine_is_asked_aside_once_and_again_after_a_while() -> None:
    hosts = Hosts()
    membership = Membership(hosts.groups_of, lambda: hosts.now)
    homes = membership.homes(PLACES)
    for _ in range(3):
        homes.get("alice")
    assert hosts.asked == []
    for _ in range(3):
        membership.step()
        homes.get("alice")
    assert hosts.asked == ["alice"]
    hosts.now = 301.0
    membership.step()
    assert hosts.asked == ["alice", "alice"]


def test_a_name_service_that_is_away_takes_nobody_out_of_their_organisation() -> None:
    hosts = Hosts()
    membership = Membership(hosts.groups_of, lambda: hosts.now)
    homes = membership.homes(PLACES)
    homes.get("alice")
    membership.step()
    hosts.groups, hosts.now = {}, 301.0  # it restarts, and knows nobody meanwhile
    membership.step()
    assert homes.get("alice") == "materials"
    hosts.groups, hosts.now = {"alice": frozenset({"users"})}, 602.0
    membership.step()
    assert homes.get("alice") == "others", "who left a group is a member no more"


def test_a_site_without_groups_asks_nobody() -> None:
    hosts = Hosts()
    membership = Membership(hosts.groups_of)
    assert membership.homes(Environment(home_vo={"carol": "physics"})).get("alice") is None
    membership.step()
    assert hosts.asked == []


def test_nodes_are_told_when_a_membership_becomes_known() -> None:
    membership = Membership(Hosts().groups_of)
    wanted = RequirementSet(Level.VO, "materials", (Requirement(Kind.FREE_CAPACITY, 1e9),))
    needs = Needs(index_sets([wanted]), membership.homes(PLACES), (), lambda _user: {})
    before = needs.of("alice", 0.0).generation
    membership.step()
    assert needs.of("alice", 0.0).generation != before


def test_this_machine_knows_the_groups_of_its_users() -> None:
    assert MY_GROUP in posix_groups(ME)
    assert posix_groups("nobody-has-this-name") is None
    assert posix_groups("") is None


@pytest.mark.parametrize("group", ["-rf", "a b", "a:b", ""])
def test_what_cannot_be_a_group_is_refused(group: str) -> None:
    named = SITE.replace('qsm:name "materials"', f'qsm:name "materials" ; qsm:memberGroup "{group}"')
    (finding,) = validate(named, "site.ttl")
    assert "POSIX group" in finding.message


def test_requirements_of_the_organisation_apply_to_members_of_its_group(tmp_path: Path) -> None:
    site = SITE.replace('qsm:name "materials"', f'qsm:name "materials" ; qsm:memberGroup "{MY_GROUP}"')
    site = site.replace(f'qsm:name "{ME}"', 'qsm:name "somebody-else"')
    embedded = EmbeddedStore(tmp_path)
    knowledge = KnowledgeBase(embedded.start())
    admin: Any = {"environ_base": {"REMOTE_ADDR": "127.0.0.1"}}
    app = create_app(ServiceConfig(knowledge=knowledge, trust_loopback=True))
    try:
        knowledge.load_ontology()
        knowledge.load_site(site, source="site.ttl")
        runtime(app).start()
        client = app.test_client()
        wanted = {"requirements": [{"kind": "free-capacity", "minimum": 1, "unit": "GB"}]}
        assert client.put("/v1/requirements/vo/materials", json=wanted, **admin).status_code == 200

        def effective() -> Any:
            answer = client.get(f"/v1/requirements/effective?user={ME}", **admin).get_json()
            return answer if answer.get("requirements") else None

        requirements = wait_until(effective, "the requirements of the organisation apply")
        assert requirements["subject"]["vo"] == "materials"
        assert [requirement["level"] for requirement in requirements["requirements"]] == ["vo"]
    finally:
        runtime(app).stop()
        embedded.stop()
