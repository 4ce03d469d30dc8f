"""The members of groups in an LDAP directory.

Every mapped group is read as a whole, so that no name a user chose ever gets into a question; names from the
members file get into a filter only escaped.  Groups within groups are followed.  Nothing here is done within
a request: a reading takes as long as the server does, but each answer at most the time-out and the whole at
most the period between two readings.  Referrals to other servers are not followed.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from ses_service.members.members_file import Directory, GroupRule

if TYPE_CHECKING:
    from pathlib import Path

_TOGETHER = 100
_MAX_MEMBERS = 1_000_000
_OF_NAMES = "memberuid"
_ANYTHING = "(objectClass=*)"

Attributes: TypeAlias = Mapping[str, list[bytes]]
Entry: TypeAlias = tuple[str, Attributes]


class DirectoryError(Exception):
    """The directory did not answer, or not what was asked for; the message says what to look at."""


def read_members(settings: Directory) -> list[frozenset[str]]:
    """Return the users of each group, in the order of the rules.  Raises DirectoryError."""
    ldap = _library()
    reading = None
    try:
        reading = _Reading(settings, ldap)
        reading.sign_in(read_password(settings.password_file))
        return [reading.users(rule) for rule in settings.groups]
    except ldap.CONNECT_ERROR as error:
        hint = "is its certificate signed by ca_file, and for this name?"
        raise DirectoryError(f"{settings.uri}: {_words(error)}: {hint}") from None
    except ldap.LDAPError as error:
        raise DirectoryError(f"{settings.uri}: {_words(error)}") from None
    finally:
        if reading is not None:
            reading.close()


def read_password(path: Path | None) -> str:
    """Return the one line of a password file that only its owner can read.  Raises DirectoryError."""
    if path is None:
        return ""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise DirectoryError(f"{path} is open to others than its owner; run: chmod 600 {path}")
            password = file.read(4096).decode("utf-8").strip("\r\n")
    except OSError as error:
        raise DirectoryError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DirectoryError(f"{path} is not text in UTF-8") from None
    if not password:
        # A server takes a name without a password for nobody, and says that all is well (RFC 4513, 5.1.2).
        raise DirectoryError(f"{path} is empty; it must hold the password")
    return password


def check(settings: Directory) -> None:
    """Raise DirectoryError for what can be found wrong without the server."""
    _library()
    read_password(settings.password_file)
    for path in (settings.ca_file, *(settings.certificate or ())):
        if path is not None and not os.access(path, os.R_OK):
            raise DirectoryError(f"{path} cannot be read")


class _Reading:
    """One connection, for one reading of all groups."""

    def __init__(self, settings: Directory, ldap: Any) -> None:
        self._settings = settings
        self._ldap = ldap
        self._deadline = time.monotonic() + settings.refresh
        self._link = link = ldap.initialize(settings.uri)
        link.timeout = settings.timeout
        link.set_option(ldap.OPT_PROTOCOL_VERSION, ldap.VERSION3)
        link.set_option(ldap.OPT_REFERRALS, ldap.OPT_OFF)
        link.set_option(ldap.OPT_NETWORK_TIMEOUT, settings.timeout)
        link.set_option(ldap.OPT_TIMEOUT, settings.timeout)
        link.set_option(ldap.OPT_X_TLS_REQUIRE_CERT, ldap.OPT_X_TLS_DEMAND)
        if settings.ca_file is not None:
            link.set_option(ldap.OPT_X_TLS_CACERTFILE, str(settings.ca_file))
        if settings.certificate is not None:
            link.set_option(ldap.OPT_X_TLS_CERTFILE, str(settings.certificate[0]))
            link.set_option(ldap.OPT_X_TLS_KEYFILE, str(settings.certificate[1]))
        link.set_option(ldap.OPT_X_TLS_NEWCTX, 0)

    def sign_in(self, password: str) -> None:
        """Connect, encrypted where the settings say so, and say who we are."""
        settings, link = self._settings, self._link
        if settings.start_tls:
            link.start_tls_s()
        if settings.external:
            link.sasl_non_interactive_bind_s("EXTERNAL")
        else:
            link.simple_bind_s(settings.bind_dn or "", password)

    def users(self, rule: GroupRule) -> frozenset[str]:
        """Return the users of a group and of the groups in it."""
        users: set[str] = set()
        seen: set[str] = set()
        waiting = self._take(self._group(rule), users)
        while waiting:
            batch = [name for name in dict.fromkeys(waiting[:_TOGETHER]) if _key(name) not in seen]
            waiting = waiting[_TOGETHER:]
            seen.update(map(_key, batch))
            for _dn, attributes in self._entries(batch):
                names = attributes.get(self._settings.user_attribute.lower())
                if names:
                    users.update(_text(name) for name in names[:1])
                else:
                    waiting += self._take(attributes, users)
            if len(seen) + len(users) > _MAX_MEMBERS:
                raise DirectoryError(f"group {rule.name} has more than {_MAX_MEMBERS} members")
        return frozenset(filter(None, users))

    def close(self) -> None:
        """Sign out."""
        try:
            self._link.unbind_ext_s()
        except self._ldap.LDAPError:
            return

    def _group(self, rule: GroupRule) -> Attributes:
        settings = self._settings
        if rule.dn is not None:
            entries = list(self._entries([rule.dn]))
        else:
            asked = self._ldap.filter.filter_format(f"({settings.name_attribute}=%s)", [rule.cn])
            sent = self._link.search_ext(
                settings.base,
                self._ldap.SCOPE_SUBTREE,
                asked,
                [*settings.member_attributes],
                timeout=settings.timeout,
            )
            entries = list(self._answer(sent))
        if len(entries) != 1:
            what = (
                "does not exist, or may not be read" if not entries else f"is {len(entries)} entries; use dn"
            )
            raise DirectoryError(f"line {rule.line} of the members file: group {rule.name!r} {what}")
        return entries[0][1]

    def _entries(self, names: Iterable[str]) -> Iterator[Entry]:
        """Yield the entries of these names that exist; all are asked for at once."""
        ldap, settings = self._ldap, self._settings
        wanted = [settings.user_attribute, *settings.member_attributes]
        sent = []
        for name in names:
            try:
                ldap.dn.str2dn(name)
            except ldap.DECODING_ERROR:
                continue
            sent.append(
                self._link.search_ext(name, ldap.SCOPE_BASE, _ANYTHING, wanted, timeout=settings.timeout)
            )
        for request in sent:
            try:
                yield from self._answer(request)
            except (ldap.NO_SUCH_OBJECT, ldap.INVALID_DN_SYNTAX, ldap.INSUFFICIENT_ACCESS):
                continue

    def _answer(self, sent: int) -> Iterator[Entry]:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise DirectoryError(f"{self._settings.uri}: reading took more than {self._settings.refresh:g} s")
        _, entries, *_ = self._link.result3(sent, timeout=min(left, self._settings.timeout))
        for dn, attributes in entries:
            if dn is not None:  # a referral has none
                yield dn, {name.lower(): values for name, values in attributes.items()}

    def _take(self, attributes: Attributes, users: set[str]) -> list[str]:
        """Add the users a group names by their names; return the members it names as entries."""
        if any(";range=" in name for name in attributes):
            raise DirectoryError(
                f"{self._settings.uri} gives the members of a group in parts (';range='), which is not "
                "supported: let SSSD resolve it and name it as qsm:memberGroup"
            )
        entries = []
        for name in self._settings.member_attributes:
            for value in map(_text, attributes.get(name.lower(), ())):
                user = value if name.lower() == _OF_NAMES else self._user_in(value)
                if user is not None:
                    users.add(user)
                else:
                    entries.append(value)
        return entries

    def _user_in(self, value: str) -> str | None:
        """Return the user a member value names by itself; ``None`` when its entry must be read."""
        try:
            first = self._ldap.dn.str2dn(value)[0]
        except (self._ldap.DECODING_ERROR, IndexError):
            return None if "=" in value else value
        if len(first) == 1 and first[0][0].lower() == self._settings.user_attribute.lower():
            return str(first[0][1])
        return None


def _library() -> Any:
    try:
        for name in ("ldap.dn", "ldap.filter"):
            import_module(name)
        return import_module("ldap")
    except ImportError:
        raise DirectoryError(
            "LDAP groups need python-ldap; install it with: pip install 'qstorman-ses-service[ldap]'"
        ) from None


def _key(name: str) -> str:
    return "".join(name.lower().split())


def _text(value: bytes) -> str:
    text = value.decode("utf-8", "replace")
    return text if text.isprintable() else ""


def _words(error: Exception) -> str:
    fields = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
    words = [str(fields[key]).strip() for key in ("desc", "info") if fields.get(key)]
    return ": ".join(words) or type(error).__name__.replace("_", " ").lower()
