"""Members of groups in a real LDAP directory, however odd, slow or absent."""

import dataclasses
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from directory_server import (
    BASE,
    GROUPS,
    PASSWORD,
    PEOPLE,
    READER,
    DirectoryServer,
    group,
    person,
    posix_group,
)
from ports import free_port
from ses_service.members.directory import DirectoryError, check, read_members, read_password
from ses_service.members.members_file import Directory, GroupRule

ODD = r"cn=R\2C D \2B (x*)\\y,ou=odd"  # the DN of a group named: R, D + (x*)\y
MANY = [f"user{number:05}" for number in range(10_000)]


def ldif() -> str:
    return "".join(
        [
            person("uid=alice", "alice"),
            person(r"cn=Smith\, Bob \+ \#1", "bob"),
            person("uid=carol", "carol"),
            group("cn=materials", [f"uid=alice,{PEOPLE}", rf"cn=Smith\, Bob \+ \#1,{PEOPLE}"]),
            group("cn=nested", [f"cn=materials,{GROUPS}", f"cn=nested,{GROUPS}", f"uid=carol,{PEOPLE}"]),
            group("cn=dangling", [f"cn=nobody,{PEOPLE}", f"uid=carol,{PEOPLE}"]),
            group("cn=many", [f"uid={name},{PEOPLE}" for name in MANY]),
            group("cn=secret", [f"uid=carol,{PEOPLE}"], f"ou=closed,{BASE}"),
            f"dn: ou=odd,{GROUPS}\nobjectClass: organizationalUnit\nou: odd\n\n",
            group(ODD, [rf"uid=o\2Cd \2B\3D\22d,{PEOPLE}"]),
            posix_group("plain", 7000, ["dave", "*", "eve)(uid=*"]),
            group("cn=twice", [f"uid=alice,{PEOPLE}"]),
            group("cn=twice", [f"uid=carol,{PEOPLE}"], f"ou=odd,{GROUPS}"),
        ]
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DirectoryServer]:
    directory_server = DirectoryServer(tmp_path_factory.mktemp("ldap"), ldif())
    yield directory_server
    directory_server.stop()


def asked(server: DirectoryServer, *rules: GroupRule, **changed: Any) -> list[frozenset[str]]:
    directory = Directory(server.uri, rules, base=GROUPS, timeout=60)
    return read_members(dataclasses.replace(directory, **changed))


def by_cn(name: str) -> GroupRule:
    return GroupRule(7, "materials", cn=name)


def by_dn(name: str) -> GroupRule:
    return GroupRule(7, "materials", dn=name)


def test_users_are_found_by_the_names_of_entries_or_in_them(server: DirectoryServer) -> None:
    assert asked(server, by_cn("materials"), by_dn(f"cn=materials,{GROUPS}")) == [
        frozenset({"alice", "bob"}), frozenset({"alice", "bob"})
    ]  # fmt: skip


def test_groups_in_groups_are_followed_and_rings_end(server: DirectoryServer) -> None:
    assert asked(server, by_cn("nested")) == [frozenset({"alice", "bob", "carol"})]


def test_members_that_do_not_exist_are_left_out(server: DirectoryServer) -> None:
    assert asked(server, by_cn("dangling")) == [frozenset({"carol"})]


def test_a_group_of_ten_thousand(server: DirectoryServer) -> None:
    assert asked(server, by_cn("many")) == [frozenset(MANY)]


def test_names_with_odd_characters_are_names(server: DirectoryServer) -> None:
    odd = frozenset({'o,d +="d'})
    assert asked(server, by_dn(f"{ODD},{GROUPS}"), by_cn("R, D + (x*)\\y")) == [odd, odd]
    assert asked(server, by_cn("plain")) == [frozenset({"dave", "*", "eve)(uid=*"})]


@pytest.mark.parametrize("name", ["*", "ma*", "materials)(cn=*", "materials)(|(cn=*)", "\\2a", "", "\x00"])
def test_a_name_cannot_become_a_question(server: DirectoryServer, name: str) -> None:
    with pytest.raises(DirectoryError, match=r"line 7 of the members file.*does not exist"):
        asked(server, by_cn(name))


def test_a_name_that_fits_two_groups_is_refused(server: DirectoryServer) -> None:
    with pytest.raises(DirectoryError, match="'twice' is 2 entries; use dn"):
        asked(server, by_cn("twice"))


def test_what_only_the_reader_may_see_takes_the_password(server: DirectoryServer, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text(PASSWORD + "\n")
    password.chmod(0o600)
    secret = by_dn(f"cn=secret,ou=closed,{BASE}")
    with pytest.raises(DirectoryError, match="may not be read"):
        asked(server, secret)
    assert asked(server, secret, bind_dn=READER, password_file=password) == [frozenset({"carol"})]
    assert asked(server, secret, uri=server.socket_uri, external=True) == [frozenset({"carol"})]
    password.write_text("wrong")
    with pytest.raises(DirectoryError, match="Invalid credentials"):
        asked(server, secret, bind_dn=READER, password_file=password)


def test_a_password_file_is_the_owners_alone(tmp_path: Path) -> None:
    password = tmp_path / "password"
    with pytest.raises(DirectoryError, match="No such file"):
        read_password(password)
    password.write_text(PASSWORD)
    password.chmod(0o640)
    with pytest.raises(DirectoryError, match=f"open to others than its owner; run: chmod 600 {password}"):
        check(Directory("ldap://127.0.0.1", (), bind_dn=READER, password_file=password))
    password.chmod(0o600)
    assert read_password(password) == PASSWORD
    password.write_text("\n")
    with pytest.raises(DirectoryError, match="is empty"):
        read_password(password)


def test_a_server_that_is_away_is_told_from_one_that_is_slow() -> None:
    with pytest.raises(DirectoryError, match="Can't contact LDAP server"):
        read_members(Directory(f"ldap://127.0.0.1:{free_port()}", (by_cn("x"),), base=BASE, timeout=1))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"ldap://127.0.0.1:{silent.getsockname()[1]}"
        for tls in (False, True):
            slow = Directory(uri, (by_cn("x"),), base=BASE, timeout=0.5, start_tls=tls)
            with pytest.raises(DirectoryError, match=r"[Tt]imed? ?out"):
                read_members(slow)


def test_a_server_that_answers_rubbish_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as rubbish:

        def talk() -> None:
            link, _ = rubbish.accept()
            with link:
                link.recv(1000)
                link.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        talking = threading.Thread(target=talk, daemon=True)
        talking.start()
        uri = f"ldap://127.0.0.1:{rubbish.getsockname()[1]}"
        with pytest.raises(DirectoryError, match=uri):
            read_members(Directory(uri, (by_cn("x"),), base=BASE, timeout=2))
        talking.join(60)


def test_a_reading_has_an_end(server: DirectoryServer) -> None:
    with pytest.raises(DirectoryError, match="reading took more than 0 s"):
        asked(server, by_cn("materials"), refresh=0.0)


def test_encryption_is_checked(tmp_path: Path) -> None:
    certificate, key = tmp_path / "server.pem", tmp_path / "server.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    server = DirectoryServer(tmp_path / "ldap", ldif(), (certificate, key))
    try:
        rule = by_cn("materials")
        homes = asked(server, rule, start_tls=True, ca_file=certificate)
        assert homes == [frozenset({"alice", "bob"})]
        with pytest.raises(DirectoryError, match="certificate"):
            asked(server, rule, start_tls=True)
    finally:
        server.stop()
