"""OpenLDAP's slapd as a process of a test's own, on a loopback port and a socket."""

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import pytest
from patience import listens, wait_for_answer
from ports import free_port

BASE = "dc=example,dc=org"
GROUPS = f"ou=groups,{BASE}"
PEOPLE = f"ou=people,{BASE}"
READER, PASSWORD = f"cn=reader,{BASE}", "reading is allowed"

_CONFIG = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {folder}/slapd.pid
{tls}
authz-regexp "gidNumber=[0-9]+[+]uidNumber={uid},cn=peercred,cn=external,cn=auth" "{reader}"
database mdb
suffix "{base}"
directory {folder}/data
maxsize 268435456
rootdn "cn=admin,{base}"
index objectClass,cn,uid eq
sizelimit unlimited
access to attrs=userPassword by anonymous auth by * none
access to dn.subtree="ou=closed,{base}" by dn="{reader}" read by * none
access to * by * read
"""

_FIRST = f"""dn: {BASE}
objectClass: dcObject
objectClass: organization
o: example
dc: example

dn: {GROUPS}
objectClass: organizationalUnit
ou: groups

dn: {PEOPLE}
objectClass: organizationalUnit
ou: people

dn: ou=closed,{BASE}
objectClass: organizationalUnit
ou: closed

dn: {READER}
objectClass: person
cn: reader
sn: reader
userPassword: {PASSWORD}

"""


def person(rdn: str, uid: str) -> str:
    """An entry of a person; ``rdn`` is escaped as in a DN."""
    return f"dn: {rdn},{PEOPLE}\nobjectClass: inetOrgPerson\ncn: {uid} of tests\nsn: tests\nuid: {uid}\n\n"


def group(rdn: str, members: Iterable[str], where: str = GROUPS) -> str:
    """An entry of a group of entries."""
    listed = "".join(f"member: {member}\n" for member in members)
    return f"dn: {rdn},{where}\nobjectClass: groupOfNames\n{listed}\n"


def posix_group(name: str, number: int, users: Iterable[str]) -> str:
    """An entry of a group of names."""
    listed = "".join(f"memberUid: {user}\n" for user in users)
    return f"dn: cn={name},{GROUPS}\nobjectClass: posixGroup\ngidNumber: {number}\n{listed}\n"


class DirectoryServer:
    """One directory; ``ldif`` are its entries besides the tree's own."""

    def __init__(self, folder: Path, ldif: str, certificate: tuple[Path, Path] | None = None) -> None:
        if shutil.which("slapd", path="/usr/sbin") is None:
            pytest.skip("Debian's slapd is not installed")
        (folder / "data").mkdir(parents=True)
        self._folder = folder
        self._config = folder / "slapd.conf"
        tls = ""
        if certificate is not None:
            tls = f"TLSCertificateFile {certificate[0]}\nTLSCertificateKeyFile {certificate[1]}\n"
        text = _CONFIG.format(folder=folder, base=BASE, reader=READER, uid=os.getuid(), tls=tls)
        self._config.write_text(text, "utf-8")
        self.port = free_port()
        self.uri = f"ldap://127.0.0.1:{self.port}"
        self.socket_uri = "ldapi://" + quote(str(folder / "ldapi"), safe="")
        self._process: subprocess.Popen[bytes] | None = None
        self._add(_FIRST + ldif)
        self.start()

    def start(self) -> None:
        """Start, and wait until it answers."""
        uris = f"{self.uri}/ {self.socket_uri}/"
        said = self._folder / "slapd.log"
        with said.open("ab") as log:
            self._process = subprocess.Popen(
                ["/usr/sbin/slapd", "-f", self._config, "-h", uris, "-d", "none"], stdout=log, stderr=log
            )
        wait_for_answer(self._process, said, lambda: listens(self.port))

    def stop(self) -> None:
        """Stop, if it runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(60)

    def change(self, ldif: str) -> None:
        """Change entries of the stopped server: delete those named, and add them again."""
        self.stop()
        names = [line.removeprefix("dn: ") for line in ldif.splitlines() if line.startswith("dn: ")]
        gone = "".join(f"dn: {name}\nchangetype: delete\n\n" for name in names)
        command = ["/usr/sbin/slapmodify", "-f", self._config]
        subprocess.run(command, input=gone.encode(), check=True, capture_output=True)
        self._add(ldif)
        self.start()

    def _add(self, ldif: str) -> None:
        command = ["/usr/sbin/slapadd", "-f", self._config, "-q"]
        done = subprocess.run(command, input=ldif.encode(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
