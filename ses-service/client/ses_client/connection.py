"""One question and its answer over HTTP, within a time, to a service that is proven.

Follows no redirect, and trusts neither size, speed nor shape of an answer.  Asks again once where a kept
connection was closed and the question changes nothing.  Thread-safe.
"""

from __future__ import annotations

import json
import math
import ssl
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NoReturn, TypeVar

import urllib3

from ses_client.address import ServiceAddress, read_token
from ses_client.errors import BadAnswerError, NotAllowedError, UnreachableError, UsageError
from ses_client.problems import error_of
from ses_client.proven import ClearTextError, UnprovenError, base_url, pool
from ses_client.schemes import other_scheme

try:
    VERSION = version("qstorman-client")
except PackageNotFoundError:  # packages of distributions hold it with the command
    VERSION = version("qstorman-ses")

_MAX_BYTES = 256 * 1024 * 1024
_CHUNK = 64 * 1024
_CONNECTIONS = 16
_CONNECT_SECONDS = 3.0  # for each address of a name
_USED_SHARE = 0.75  # of the life of a session; then the next is opened

T = TypeVar("T")
Observer = Callable[[str, str, float], None]


class Connection:
    """The service at an address.

    ``shows_address``: errors name it, for a person who chose it.  ``observe`` is called with (method,
    outcome, seconds) of every question.  Raises NotAllowedError where a token would travel in clear text.
    """

    def __init__(
        self,
        address: ServiceAddress,
        *,
        timeout_seconds: float,
        shows_address: bool = True,
        observe: Observer | None = None,
    ) -> None:
        self.address = address
        self._called = "The selection service" + (f" at {address.url}" if shows_address else "")
        self._shows_address = shows_address
        self._observe = observe
        self._timeout = timeout_seconds
        self._base = base_url(address.url)
        self._authorisation: dict[str, str] | None = None
        self._renew_at = math.inf  # of the monotonic clock
        shown = {"cert_file": address.certificate, "key_file": address.key}
        try:
            self._pool = pool(
                address.url,
                secret=address.secret,
                ca=address.ca,
                maxsize=_CONNECTIONS,
                retries=False,
                **{name: str(path) for name, path in shown.items() if path is not None},
            )
        except ClearTextError as error:
            raise NotAllowedError(str(error)) from None

    def ask(
        self,
        method: str,
        path: str,
        reader: Callable[[Any], T],
        *,
        fields: Mapping[str, object] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        accept: tuple[int, ...] = (200, 201),
        writes: bool = False,
        authorised: bool = True,
        timeout_seconds: float | None = None,
    ) -> T:
        """Return what ``reader`` makes of the answer; ``None`` among ``fields`` is left out.

        Raises errors of :mod:`ses_client.errors`.
        """
        sent = {"Accept": "application/json, application/problem+json", "Ses-Version": VERSION}
        sent |= headers or {}
        if authorised:
            sent |= self._token()
        payload = None
        if body is not None:
            sent["Content-Type"] = "application/json"
            payload = _json(body)
        question = {
            "method": method,
            "url": self._base + path,
            "fields": {name: _text(value) for name, value in (fields or {}).items() if value is not None},
            "body": payload,
            "headers": {header: _bytes(value) for header, value in sent.items()},
        }
        outcome, began = "unavailable", time.monotonic()
        try:
            status, data = self._exchange(question, timeout_seconds or self._timeout, writes)
            outcome = str(status)
            if status not in accept:
                raise error_of(status, data, self.address.secret)
            outcome = "unreadable"
            answer = self._read(data, reader)
            outcome = str(status)
            return answer
        finally:
            if self._observe:
                self._observe(method, outcome, time.monotonic() - began)

    def open_session(self) -> None:
        """Exchange a credential of MUNGE for a token, and show that from then on.

        Raises NotAllowedError when munged gives none or the service does not take it.
        """
        assert self.address.munge is not None
        token, seconds = self.ask(
            "POST",
            "/v1/sessions",
            lambda data: (str(data["token"]), float(data["seconds"])),
            body={"credential": self.address.munge.credential()},
            writes=True,
            authorised=False,
        )
        self._authorisation = {"Authorization": f"Bearer {token}"}
        self._renew_at = time.monotonic() + seconds * _USED_SHARE

    def _token(self) -> dict[str, str]:
        if self.address.munge and (self._authorisation is None or time.monotonic() >= self._renew_at):
            self.open_session()
        if self._authorisation is None:
            file = self.address.token_file
            self._authorisation = {} if file is None else {"Authorization": f"Bearer {read_token(file)}"}
        return self._authorisation or {}

    def _read(self, data: bytes, reader: Callable[[Any], T]) -> T:
        try:
            decoded = json.loads(data)
        except ValueError:
            decoded = None
        why = "it is no JSON object"
        if isinstance(decoded, dict):
            try:
                return reader(decoded)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                why = f"{type(error).__name__}: {error}"
        raise BadAnswerError(
            f"{self._called} gave an answer that is not as its contract says ({why}).",
            "Are the versions different, or is this another program? Name the service with --url.",
        )

    def _exchange(self, question: dict[str, Any], seconds: float, writes: bool) -> tuple[int, bytes]:
        began = time.monotonic()
        end = began + seconds
        try:
            try:
                return self._once(question, seconds, end)
            except urllib3.exceptions.ProtocolError:
                # A kept connection that the other side closed meanwhile.  A change may have been made.
                if writes:
                    raise
                return self._once(question, seconds, end)
        except urllib3.exceptions.HTTPError as error:
            self._fail(error, began)

    def _once(self, question: dict[str, Any], seconds: float, end: float) -> tuple[int, bytes]:
        waits = urllib3.Timeout(connect=min(_CONNECT_SECONDS, seconds), read=seconds)
        response = self._pool.request(**question, timeout=waits, preload_content=False, redirect=False)
        read = getattr(response, "read1", response.read)  # urllib3 1.26 has no read1
        parts: list[bytes] = []
        size = 0
        try:
            while chunk := read(_CHUNK):
                parts.append(chunk)
                size += len(chunk)
                if size > _MAX_BYTES:
                    raise BadAnswerError(f"{self._called} gave an answer that is too large to be one.")
                if time.monotonic() > end:
                    raise UnreachableError(f"{self._called} did not end its answer within {seconds:g} s.")
        except BaseException:
            response.close()
            raise
        response.release_conn()
        return response.status, b"".join(parts)

    def _fail(self, error: urllib3.exceptions.HTTPError, began: float) -> NoReturn:
        """Raise the error of a question that began then and got no answer."""
        if isinstance(error, UnprovenError):
            why = str(error).partition(": ")[2]
            raise NotAllowedError(f"{self._called} is not what answers: {why}.") from error
        refused = isinstance(error, urllib3.exceptions.NewConnectionError)
        silent = isinstance(error, urllib3.exceptions.TimeoutError) and not refused
        if silent and isinstance(error, urllib3.exceptions.ConnectTimeoutError):
            raise UnreachableError(
                f"{self._called} cannot be reached: no connection was made within {_since(began)}.",
                "Is its machine up, and does a firewall let you through? Name another with --url or "
                "SES_SERVICE_URL.",
            ) from error
        # Who speaks TLS refuses plain HTTP at once; who speaks HTTP may wait for more than a greeting of TLS.
        if self._shows_address and not refused and not (silent and self.address.url.startswith("http:")):
            self._say_other_scheme(error)
        if isinstance(error, urllib3.exceptions.SSLError):
            why, step = _certificate_fault(error)
            raise NotAllowedError(f"{self._called} is not proven by its certificate: {why}.", step) from error
        if silent:
            raise UnreachableError(
                f"{self._called} did not answer within {_since(began)}.",
                "Look at its log, or name another with --url.",
            ) from error
        raise UnreachableError(
            f"{self._called} cannot be reached ({_cause(error)}).",
            "Start ses-service, or name another with --url or SES_SERVICE_URL.",
        ) from error

    def _say_other_scheme(self, error: Exception) -> None:
        """Raise UnreachableError if the service speaks the other of http and https."""
        url = self.address.url
        other = other_scheme(url)
        if other is not None:
            actual, named = other.partition(":")[0], url.partition(":")[0]
            more = " (tokens are sent by http on this machine only)" if actual == "http" else ""
            raise UnreachableError(
                f"What answers at {url} speaks {actual}, not {named}.",
                f"Name it {other} with --url or SES_SERVICE_URL{more}.",
            ) from error


def _json(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except ValueError:  # infinite, or not a number
        raise UsageError("A number that was given is too large, or is none.") from None


def _bytes(value: str) -> bytes:
    """Return a header as it is sent: names of users are of any script."""
    return value.encode("utf-8", "surrogateescape")


def _text(value: object) -> str:
    """Return a value for a query; bytes of a name that is no UTF-8 are marked as the agent marks them."""
    return str(value).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


_NAME_THE_AUTHORITY = "Name the authority that signed it with --service-ca or SES_SERVICE_CA."
_STEPS = {  # by what OpenSSL says of a certificate
    9: "It is not valid yet: compare the clocks of both machines.",
    10: "Renew it on the service's machine (ses-service tls init), or set the clock of this one right.",
    62: "Call the service by a name that it has, or make one with this name: ses-service tls init.",
    64: "Call the service by a name that it has, or make one with this address: ses-service tls init.",
}
_CAUSES = (
    "Connection refused",
    "Name or service not known",
    "No route to host",
    "Network is unreachable",
    "No such file or directory",
    "Permission denied",
    "reset by peer",
)


def _since(moment: float) -> str:
    return f"{time.monotonic() - moment:.1f} s"


def _certificate_fault(error: Exception) -> tuple[str, str]:
    """Return what is wrong with a certificate, and what to do about it."""
    cause = error.args[0] if error.args else None
    if not isinstance(cause, ssl.SSLCertVerificationError):
        return str(error), _NAME_THE_AUTHORITY
    step = _STEPS.get(cause.verify_code, _NAME_THE_AUTHORITY)
    return f"certificate verify failed: {cause.verify_message.rstrip('.')}", step


def _cause(error: Exception) -> str:
    if isinstance(error, urllib3.exceptions.LocationValueError):
        return "it is not an address"
    text = str(error)
    return next((known.lower() for known in _CAUSES if known in text), type(error).__name__)
