"""The members file: which LDAP group, and which claim of a token, stands for which virtual organisation.

Reads and checks the TOML file and nothing else: asks no server, and does not know which organisations exist.
A password is never in it, only the name of a file that holds one.
"""

import hashlib
import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ses_client.errors import SesError
from ses_client.text_files import read_text, toml_of

from ses_service.members.toml_tables import MembersFileError, Table, lines_of

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_MEMBER_ATTRIBUTES = ("member", "uniqueMember", "memberUid")
_ATTRIBUTE = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")


@dataclass(frozen=True, slots=True)
class GroupRule:
    """Members of this group, named by ``dn`` or by ``cn``, belong to ``vo``; stated in ``line``."""

    line: int
    vo: str
    dn: str | None = None
    cn: str | None = None

    @property
    def name(self) -> str:
        """The group as the file names it."""
        return self.dn or self.cn or ""


@dataclass(frozen=True, slots=True)
class ClaimRule:
    """Whose token has this value, or one that fits this pattern, belongs to ``vo``; stated in ``line``."""

    line: int
    vo: str
    claim: str
    value: str | None = None
    pattern: str | None = None

    def fits(self, value: str) -> bool:
        """Return whether a value of the claim is meant."""
        return value == self.value if self.pattern is None else fnmatchcase(value, self.pattern)


@dataclass(frozen=True, slots=True)
class Directory:
    """An LDAP server and the groups that are asked of it.  Times are seconds."""

    uri: str
    groups: tuple[GroupRule, ...]
    base: str | None = None
    bind_dn: str | None = None
    password_file: Path | None = None
    external: bool = False
    start_tls: bool = False
    ca_file: Path | None = None
    certificate: tuple[Path, Path] | None = None
    timeout: float = 5.0
    refresh: float = 300.0
    name_attribute: str = "cn"
    user_attribute: str = "uid"
    member_attributes: tuple[str, ...] = _MEMBER_ATTRIBUTES


@dataclass(frozen=True, slots=True)
class Issuer:
    """Who signs tokens, and what their claims stand for.  Times are seconds.

    ``keep`` is how long a membership counts after a token last showed it.  With a ``user_domain`` the claim
    is NAME@DOMAIN, and the user NAME.
    """

    issuer: str
    audience: str
    rules: tuple[ClaimRule, ...]
    jwks_uri: str | None = None
    user_claim: str = "preferred_username"
    user_domain: str | None = None
    algorithms: tuple[str, ...] = ("RS256", "ES256")
    ca_file: Path | None = None
    timeout: float = 5.0
    refresh: float = 3600.0
    keep: float = 86400.0


@dataclass(frozen=True, slots=True)
class MembersFile:
    """A members file.  ``digest`` is another one for each content."""

    path: Path
    digest: str
    ldap: Directory | None = None
    oidc: Issuer | None = None

    @property
    def rules(self) -> tuple[GroupRule | ClaimRule, ...]:
        """All rules, in the order of the file within each kind."""
        groups = self.ldap.groups if self.ldap else ()
        return (*groups, *(self.oidc.rules if self.oidc else ()))

    def unknown(self, organisations: Sequence[str] | frozenset[str]) -> list[str]:
        """Return a sentence for each rule whose organisation the site does not have."""
        known = ", ".join(sorted(organisations)) or "none"
        return [
            f"{self.path}, line {rule.line}: the site has no organisation {rule.vo!r} (it has: {known})"
            for rule in self.rules
            if rule.vo not in organisations
        ]


def read_members_file(path: Path) -> MembersFile:
    """Read a members file.  Raises MembersFileError, which names file and line."""
    try:
        text = read_text(path)
        root = toml_of(text, path)
    except SesError as error:
        raise MembersFileError(str(error)) from None
    top = Table(path, root, 1, "the file", lines_of(text))
    ldap, oidc = top.table("ldap"), top.table("oidc")
    top.done()
    if ldap is None and oidc is None:
        raise MembersFileError(f"{path} maps nothing: write a table [ldap], [oidc] or both")
    digest = hashlib.sha256(text.encode()).hexdigest()
    return MembersFile(
        path, digest, None if ldap is None else _directory(ldap), None if oidc is None else _issuer(oidc)
    )


def _directory(table: Table) -> Directory:
    groups = tuple(_group(group) for group in table.tables("group"))
    certificate, key = table.path("cert_file"), table.path("key_file")
    if (certificate is None) != (key is None):
        table.fail("cert_file and key_file belong together")
    directory = Directory(
        uri=table.text("uri", required=True) or "",
        groups=groups,
        base=table.text("base"),
        bind_dn=table.text("bind_dn"),
        password_file=table.path("password_file"),
        external=table.choice("sasl", ("EXTERNAL",)) is not None,
        start_tls=table.flag("start_tls"),
        ca_file=table.path("ca_file"),
        certificate=(certificate, key) if certificate and key else None,
        timeout=table.seconds("timeout", 5.0, 0.1),
        refresh=table.seconds("refresh", 300.0, 1.0),
        name_attribute=_attribute(table, "name_attribute", "cn"),
        user_attribute=_attribute(table, "user_attribute", "uid"),
        member_attributes=table.texts("member_attributes", _MEMBER_ATTRIBUTES),
    )
    table.done()
    for name in directory.member_attributes:
        if not _ATTRIBUTE.fullmatch(name):
            table.fail(f"{name!r} is no attribute's name")
    _check_connection(table, directory)
    if not groups:
        table.fail("no group is mapped: write a [[ldap.group]] with dn or cn, and vo")
    if directory.base is None and any(group.cn is not None for group in groups):
        table.fail("a group is named by cn: say below which base it is looked for")
    return directory


def _check_connection(table: Table, directory: Directory) -> None:
    schemes = {"ldap", "ldaps", "ldapi"}
    for uri in directory.uri.split() or [""]:
        if urlsplit(uri).scheme not in schemes or "://" not in uri:
            table.fail(f"uri {uri!r} is not ldap://HOST, ldaps://HOST or ldapi://SOCKET")
    if (directory.bind_dn is None) != (directory.password_file is None):
        table.fail("bind_dn and password_file belong together")
    if directory.external and directory.bind_dn is not None:
        table.fail("sasl = 'EXTERNAL' and bind_dn are two ways to sign in; choose one")
    clear = [uri for uri in directory.uri.split() if uri.startswith("ldap://") and not _is_local(uri)]
    if directory.bind_dn is not None and clear and not directory.start_tls:
        table.fail(f"the password would go to {clear[0]} unencrypted; use ldaps:// or start_tls = true")


def _group(table: Table) -> GroupRule:
    dn, cn, vo = table.text("dn"), table.text("cn"), table.text("vo", required=True)
    table.done()
    if (dn is None) == (cn is None):
        table.fail("a group is named by dn or by cn")
    return GroupRule(table.line, vo or "", dn, cn)


def _issuer(table: Table) -> Issuer:
    rules = tuple(_claim(claim) for claim in table.tables("claim"))
    issuer = Issuer(
        issuer=table.text("issuer", required=True) or "",
        audience=table.text("audience", required=True) or "",
        rules=rules,
        jwks_uri=table.text("jwks_uri"),
        user_claim=table.text("user_claim") or "preferred_username",
        user_domain=table.text("user_domain"),
        algorithms=table.texts("algorithms", ("RS256", "ES256")),
        ca_file=table.path("ca_file"),
        timeout=table.seconds("timeout", 5.0, 0.1),
        refresh=table.seconds("refresh", 3600.0, 1.0),
        keep=table.seconds("keep", 86400.0, 0.0),
    )
    table.done()
    for name, url in (("issuer", issuer.issuer), ("jwks_uri", issuer.jwks_uri)):
        if url is not None and not is_safe(url):
            table.fail(f"{name} {url!r} is not https:// (http:// is for this machine only)")
    for name in issuer.algorithms:
        if name not in _ALGORITHMS:
            table.fail(f"algorithm {name!r} is not one of {', '.join(_ALGORITHMS)}")
    return issuer


def is_safe(url: str) -> bool:
    """Return whether what a URL answers can be trusted: it is https, or of this machine."""
    return url.startswith("https://") or (url.startswith("http://") and _is_local(url))


def _claim(table: Table) -> ClaimRule:
    claim, vo = table.text("claim", required=True), table.text("vo", required=True)
    value, pattern = table.text("value"), table.text("pattern")
    table.done()
    if (value is None) == (pattern is None):
        table.fail("a claim is mapped by value or by pattern")
    return ClaimRule(table.line, vo or "", claim or "", value, pattern)


def _attribute(table: Table, name: str, default: str) -> str:
    attribute = table.text(name) or default
    if not _ATTRIBUTE.fullmatch(attribute):
        table.fail(f"{name} {attribute!r} is no attribute's name")
    return attribute


def _is_local(url: str) -> bool:
    host: Any = urlsplit(url).hostname or ""
    try:
        return bool(host == "localhost" or ipaddress.ip_address(host).is_loopback)
    except ValueError:
        return False
