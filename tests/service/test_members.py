"""The members file decides who belongs where, whether or not the directory answers."""

import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from directory_server import BASE, GROUPS, PASSWORD, PEOPLE, READER, DirectoryServer, group
from patience import wait_until
from service_process import SITE, Running
from ses_service.members import memberships
from ses_service.members.directory import DirectoryError
from ses_service.members.members_file import Directory, MembersFile, read_members_file
from ses_service.members.memberships import Memberships
from ses_service.members.toml_tables import MembersFileError
from ses_service.members.updater import Members
from ses_service.model.entities import Kind, Level, Requirement
from ses_service.security.whole_file import write_whole
from ses_service.threads.source_status import Check

PLAIN = """
[ldap]
uri = "ldap://127.0.0.1:1"
base = "ou=groups"

[[ldap.group]]
cn = "mat"
vo = "materials"

[[ ldap.group ]]  # the second
dn = "cn=phys,ou=groups"
vo = "physics"
"""
VOS = frozenset({"materials", "physics"})
MEMBERS = [frozenset({"alice", "bob"}), frozenset({"bob", "carol"})]


def written(folder: Path, text: str = PLAIN) -> MembersFile:
    path = folder / "members.toml"
    path.write_text(text)
    return read_members_file(path)


class Reader:
    """A directory that answers as it is told."""

    def __init__(self) -> None:
        self.members: Sequence[frozenset[str]] = MEMBERS
        self.error: str | None = None

    def __call__(self, _: Directory) -> Sequence[frozenset[str]]:
        if self.error is not None:
            raise DirectoryError(self.error)
        return self.members


def test_what_was_known_last_is_kept_when_two_threads_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mapping, path = written(tmp_path), tmp_path / "members.json"
    known = Memberships(mapping, path)
    threads: list[threading.Thread] = []

    def slowly(target: Path, content: bytes) -> None:
        if not threads:
            threads.append(threading.Thread(target=known.take_groups, args=(MEMBERS[::-1], 2.0)))
            threads[0].start()
            threads[0].join(0.2)
        write_whole(target, content)

    monkeypatch.setattr(memberships, "write_whole", slowly)
    known.take_groups(MEMBERS, 1.0)
    threads[0].join()
    assert Memberships(mapping, path).read_at == 2.0


def members(folder: Path, clock: Any, reader: Any, vos: frozenset[str] | None = VOS) -> Members:
    mapping = written(folder)
    return Members(mapping, Memberships(mapping, folder / "members.json"), clock, lambda: vos, reader)


def homes(people: Members) -> dict[str, str]:
    known = {user: people.home(user) for user in ("alice", "bob", "carol", "dave")}
    return {user: home.vo for user, home in known.items() if home is not None}


def test_the_first_group_of_the_file_counts(tmp_path: Path, clock: Any) -> None:
    people = members(tmp_path, clock, Reader())
    assert homes(people) == {}
    assert people.step() == 300.0
    assert homes(people) == {"alice": "materials", "bob": "materials", "carol": "physics"}
    home = people.home("carol")
    assert home is not None
    assert home.source == "LDAP group cn=phys,ou=groups"


def test_what_was_read_is_used_while_the_directory_is_away_and_after_a_restart(
    tmp_path: Path, clock: Any
) -> None:
    reader = Reader()
    people = members(tmp_path, clock, reader)
    people.step()
    reader.error = "nobody listens"
    clock.time += 100
    assert people.step() < 300.0
    assert homes(people)["alice"] == "materials"
    assert people.notes() == ["The directory of members is away: 3 people in groups, read 100 s ago."]
    (_, check) = people.checks()
    assert check == Check("directory", False, "nobody listens; 3 people in groups, read 100 s ago")
    again = members(tmp_path, clock, reader)
    assert homes(again) == homes(people)
    again.step()
    assert "read 100 s ago" in again.notes()[0]
    assert (tmp_path / "members.json").stat().st_mode & 0o777 == 0o600


def test_a_directory_that_stays_away_is_asked_less_and_less(tmp_path: Path, clock: Any) -> None:
    reader = Reader()
    reader.error = "nobody listens"
    people = members(tmp_path, clock, reader)
    pauses = [people.step() for _ in range(12)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (2.0, 300.0)
    assert people.notes() == ["The directory of members is away: groups were never read."]


@pytest.mark.parametrize("harm", ["", "{", '{"mapping": 1}', "[]", '{"mapping": "x", "groups": [[1]]}'])
def test_a_copy_that_cannot_be_used_is_not(tmp_path: Path, clock: Any, harm: str) -> None:
    people = members(tmp_path, clock, Reader())
    people.step()
    (tmp_path / "members.json").write_text(harm)
    assert homes(members(tmp_path, clock, Reader())) == {}


def test_a_copy_made_by_another_file_is_not_used(tmp_path: Path, clock: Any) -> None:
    members(tmp_path, clock, Reader()).step()
    mapping = written(tmp_path, PLAIN.replace('"physics"', '"materials"'))
    assert Memberships(mapping, tmp_path / "members.json").home("carol", 0.0) is None


def test_a_rule_for_an_organisation_nobody_knows_is_named_and_not_used(tmp_path: Path, clock: Any) -> None:
    people = members(tmp_path, clock, Reader(), frozenset({"physics"}))
    people.step()
    people.check()
    assert homes(people) == {"bob": "physics", "carol": "physics"}
    (check, _) = people.checks()
    assert check.ok is False
    assert check.detail == (
        f"{tmp_path / 'members.toml'}, line 6: the site has no organisation 'materials' (it has: physics)"
    )


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("[ldap]", "[ldap", r"members.toml is not TOML: .*line 2"),
        ('cn = "mat"', "", r"line 6: \[\[ldap.group\]\]: a group is named by dn or by cn"),
        ('vo = "physics"', "", r"line 10: \[\[ldap.group\]\]: vo is missing"),
        ('vo = "physics"', 'vo = ""', r"line 10: .* vo must be a text that is not empty"),
        ('vo = "physics"', 'vo = "p\\u0007"', "line 10: .* vo must be a text"),
        ('vo = "physics"', 'vo = "p"\ngroup = "x"', r"line 10: .*: group is not known here"),
        ('base = "ou=groups"', "", r"line 2: \[ldap\]: a group is named by cn"),
        ("ldap://127.0.0.1:1", "http://x", r"line 2: \[ldap\]: uri 'http://x' is not ldap://HOST"),
        ("[ldap]", "[ldap]\ntimeout = -1", r"timeout must be a number of seconds from 0.1 up"),
        ("[ldap]", "[ldap]\ntimeout = true", r"timeout must be a number of seconds"),
        ("[ldap]", '[ldap]\nsasl = "GSSAPI"', r"sasl must be EXTERNAL"),
        ("[ldap]", '[ldap]\nbind_dn = "cn=x"', r"bind_dn and password_file belong together"),
        ("[ldap]", '[ldap]\nuser_attribute = "uid)(x=*"', r"is no attribute's name"),
        ("[ldap]", "[ladp]", r"\[?the file\]?: ladp is not known here|maps nothing"),
        (PLAIN, "", r"maps nothing: write a table \[ldap\], \[oidc\] or both"),
        (PLAIN, '[ldap]\nuri = "ldapi:///"\ngroup = 3', r"write each as a \[\[ldap.group\]\]"),
        (PLAIN, '[ldap]\nuri = "ldapi:///"', r"no group is mapped"),
    ],
)
def test_a_faulty_file_is_refused_with_the_line(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    assert before in PLAIN
    with pytest.raises(MembersFileError, match=message):
        written(tmp_path, PLAIN.replace(before, after, 1))


def test_a_password_is_not_sent_in_clear_over_a_network(tmp_path: Path) -> None:
    signing = PLAIN.replace("[ldap]", '[ldap]\nbind_dn = "cn=x"\npassword_file = "p"')
    assert written(tmp_path, signing).ldap is not None
    remote = signing.replace("127.0.0.1:1", "ldap.example.org")
    with pytest.raises(MembersFileError, match=r"would go to ldap://ldap.example.org unencrypted"):
        written(tmp_path, remote)
    for safe in (remote.replace("ldap://", "ldaps://"), remote.replace("[ldap]", "[ldap]\nstart_tls = true")):
        ldap = written(tmp_path, safe).ldap
        assert ldap is not None
        assert ldap.password_file == tmp_path / "p"


def needs_of_carol(service: Any) -> str:
    """Return the generation an agent is told."""
    said = {"incarnation": "a" * 16, "users": ["carol"]}
    generation: str = service.post("/v1/nodes/n1/announcements", said).get_json()["needs"][0]["generation"]
    return generation


def test_a_decision_never_waits_for_the_directory(
    serve: Any, site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(_: Directory) -> Sequence[frozenset[str]]:
        begun.set()
        assert go.wait(60)
        return MEMBERS

    environment = replace(site.equal(1).environment, organisations=VOS)
    service = serve(environment, members=written(tmp_path))
    service.knowledge.put(Level.VO, "physics", Requirement(Kind.FREE_CAPACITY, 1e9))
    service.refresh()
    following = service.runtime.members
    monkeypatch.setattr(following, "_read", slow)
    following.start()
    asked = "/v1/requirements/effective?user=carol"
    try:
        assert begun.wait(60)
        assert service.get(asked).get_json()["subject"]["vo"] is None
        assert service.post("/v1/selections", {"subject": {"user": "carol"}}).status_code == 200
        generation = needs_of_carol(service)
        go.set()
        wait_until(lambda: service.get(asked).get_json()["subject"]["vo"] == "physics")
        answer = service.get(asked).get_json()
        assert answer["vo_from"] == "LDAP group cn=phys,ou=groups"
        assert [requirement["level"] for requirement in answer["requirements"]] == ["vo"]
        assert needs_of_carol(service) != generation, "agents hear of it"
        decision = service.post("/v1/selections", {"subject": {"user": "carol"}}).get_json()
        assert [requirement["level_name"] for requirement in decision["requirements"]] == ["physics"]
        named = service.get(f"{asked}&vo=materials").get_json()
        assert (named["subject"]["vo"], named["vo_from"]) == ("materials", "request")
    finally:
        go.set()
        following.stop()


def test_what_the_site_states_goes_before_the_file(serve: Any, site: Any, tmp_path: Path) -> None:
    environment = replace(site.equal(1).environment, organisations=VOS, home_vo={"alice": "physics"})
    service = serve(environment, members=written(tmp_path)).refresh()
    service.runtime.members.memberships.take_groups(MEMBERS, 0.0)
    answers = {
        user: service.get(f"/v1/requirements/effective?user={user}").get_json() for user in ("alice", "bob")
    }
    assert [answer["subject"]["vo"] for answer in answers.values()] == ["physics", "materials"]
    assert answers["alice"]["vo_from"] == "site description"


def test_a_service_follows_a_real_directory_and_survives_it(tmp_path: Path) -> None:
    def listed(*names: str) -> str:
        return group("cn=mat", [f"uid={name},{PEOPLE}" for name in names])

    server = DirectoryServer(tmp_path / "ldap", listed("alice"))
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    password.chmod(0o600)
    file = tmp_path / "members.toml"
    file.write_text(
        f'[ldap]\nuri = "{server.uri}"\nbase = "{GROUPS}"\nbind_dn = "{READER}"\n'
        'password_file = "password"\nrefresh = 1\ntimeout = 10\n\n'
        '[[ldap.group]]\ncn = "mat"\nvo = "materials"\n'
    )
    options = ("--trust-loopback", f"--site={SITE}", f"--members={file}")

    def vo_of(service: Running, user: str) -> Any:
        return service.call("GET", f"/v1/requirements/effective?user={user}")[1]["subject"]["vo"]

    def directory_ok(service: Running) -> Any:
        checks = service.call("GET", "/readyz")[1]["checks"]
        return next(check["ok"] for check in checks if check["name"] == "directory")

    try:
        service = Running(tmp_path, *options).wait_ready()
        try:
            wait_until(lambda: vo_of(service, "alice") == "materials")
            assert vo_of(service, "erin") is None
            server.change(listed("erin"))
            wait_until(lambda: vo_of(service, "erin") == "materials")
            assert vo_of(service, "alice") is None
            server.stop()
            wait_until(lambda: not directory_ok(service))
            assert vo_of(service, "erin") == "materials"
            assert service.call("GET", "/readyz")[0] == 200
        finally:
            service.end()
        service = Running(tmp_path, *options).wait_ready()
        try:
            assert vo_of(service, "erin") == "materials", "known from before"
            server.start()
            wait_until(lambda: directory_ok(service))
        finally:
            service.end()
    finally:
        server.stop()
    password.chmod(0o644)
    refused = Running(tmp_path, *options)
    assert refused.process.wait(60) == 1
    assert f"chmod 600 {os.fspath(password)}" in refused.log.read_text()


def test_a_faulty_file_stops_the_start(tmp_path: Path) -> None:
    file = tmp_path / "members.toml"
    file.write_text(f'[ldap]\nuri = "ldap://127.0.0.1"\nbase = "{BASE}"\n\n[[ldap.group]]\ncn = "x"\n')
    refused = Running(tmp_path, "--trust-loopback", f"--members={file}")
    assert refused.process.wait(60) == 1
    assert "line 5: [[ldap.group]]: vo is missing" in refused.log.read_text()
