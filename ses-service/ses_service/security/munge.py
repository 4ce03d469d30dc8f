"""What MUNGE says of a credential: who made it, on which host, and what it carries.

``libmunge`` is loaded when it is needed: it hands over fields, where ``unmunge`` would be a process for
each credential and a text to read.  It lets go of the interpreter's lock while it waits for the daemon.
"""

import ctypes
import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path

LIBRARY = "libmunge.so.2"

# Numbers of munge.h; the library keeps them between its releases.
_OPTION_ADDRESS, _OPTION_SOCKET = 5, 8
_SUCCESS, _NO_DAEMON = 0, (6, 7)
_WHY = {
    13: "it was made in another MUNGE realm",
    15: "it has expired; compare the clocks of both machines",
    16: "it was made in the future; compare the clocks of both machines",
    17: "it was used before",
}
_INVALID = "it was not made with this site's MUNGE key"


class MungeError(Exception):
    """MUNGE cannot be asked; the message says why and what to do."""


class CredentialError(Exception):
    """A credential that is not believed; the message says why."""


@dataclass(frozen=True, slots=True)
class Credential:
    """What a credential says.  ``address``: of the host it was made on, as munged there believes."""

    uid: int
    address: ipaddress.IPv4Address
    payload: bytes


class Munge:
    """The munged of this machine; ``path`` is its socket, if not the usual one.  Any thread.

    Raises MungeError where the library is not installed.
    """

    def __init__(self, path: Path | None = None) -> None:
        try:
            self._library = ctypes.CDLL(LIBRARY)
        except OSError:
            raise MungeError(f"MUNGE's library {LIBRARY} is not here: install libmunge2 and munge") from None
        self._c = ctypes.CDLL(None)
        self._c.free.argtypes = [ctypes.c_void_p]
        self._library.munge_ctx_create.restype = ctypes.c_void_p
        self._library.munge_strerror.restype = ctypes.c_char_p
        self._path = path

    def decode(self, text: str) -> Credential:
        """Return what a credential says, which munged believes once.

        Raises CredentialError, and MungeError when munged does not answer.
        """
        context = ctypes.c_void_p(self._library.munge_ctx_create())
        if not context:
            raise MemoryError
        try:
            return self._decode(context, text)
        finally:
            self._library.munge_ctx_destroy(context)

    def _decode(self, context: ctypes.c_void_p, text: str) -> Credential:
        if self._path is not None:
            self._library.munge_ctx_set(context, _OPTION_SOCKET, ctypes.c_char_p(bytes(self._path)))
        payload, length = ctypes.c_void_p(), ctypes.c_int()
        uid, gid = ctypes.c_uint32(), ctypes.c_uint32()
        credential = ctypes.c_char_p(text.encode("ascii", "replace"))
        out = (ctypes.byref(argument) for argument in (payload, length, uid, gid))
        status = self._library.munge_decode(credential, context, *out)
        try:
            carried = ctypes.string_at(payload, length.value) if payload else b""
        finally:
            self._c.free(payload)
        if status in _NO_DAEMON:
            why = self._library.munge_strerror(status).decode()
            raise MungeError(f"munged of this machine does not answer: {why}")
        if status != _SUCCESS:
            raise CredentialError(_WHY.get(status, _INVALID))
        address = ctypes.create_string_buffer(4)
        self._library.munge_ctx_get(context, _OPTION_ADDRESS, address)
        return Credential(uid.value, ipaddress.IPv4Address(address.raw), carried)


def addresses_of(host: str) -> frozenset[str]:
    """Return the addresses a name stands for, by this machine's resolver; none for one it does not know."""
    try:
        addresses = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return frozenset()
    return frozenset(str(address[4][0]) for address in addresses)


def is_own(address: str) -> bool:
    """Whether an address is one of this machine's."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True
