"""The keys an OIDC issuer signs with: read aside, and looked up from memory.

Only public keys for signatures are taken.  While the issuer is away, the keys that are known stay in use.  A
token with a key that is not known makes the keys be read again, at most every ten seconds.  Does not follow
redirects, and asks no address that is neither https nor this machine.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import jwt
import structlog
import urllib3

from ses_service.members.members_file import Issuer, is_safe
from ses_service.threads.source_status import SourceStatus

_log = structlog.get_logger("ses_service")

_MAX_BODY = 2**20
_CHUNK = 64 * 1024
_ASKED_FOR = 10.0
_PAUSE = 1.0
_FIRST_RETRY, _LAST_RETRY = 2.0, 60.0
_KEY_TYPES = ("RSA", "EC", "OKP")


class IssuerError(Exception):
    """The issuer did not answer, or not what was asked for."""


def fetch_keys(settings: Issuer) -> dict[str, jwt.PyJWK]:
    """Return the issuer's keys by their names; one without a name is named "".  Raises IssuerError."""
    pool = urllib3.PoolManager(
        retries=False, ca_certs=None if settings.ca_file is None else str(settings.ca_file)
    )
    try:
        url = settings.jwks_uri
        if url is None:
            about = f"{settings.issuer.rstrip('/')}/.well-known/openid-configuration"
            metadata = _json(pool, about, settings.timeout)
            if metadata.get("issuer") != settings.issuer:
                raise IssuerError(
                    f"{about} is about issuer {metadata.get('issuer')!r}, not {settings.issuer!r}"
                )
            url = metadata.get("jwks_uri")
            if not isinstance(url, str) or not is_safe(url):
                raise IssuerError(f"{about} names no jwks_uri that is https://")
        listed = _json(pool, url, settings.timeout).get("keys")
        keys = [_key(key) for key in listed] if isinstance(listed, list) else []
        usable = {key.key_id or "": key for key in keys if key is not None}
        if not usable:
            raise IssuerError(f"{url} has no key for signatures")
        return usable
    finally:
        pool.clear()


class Keys:
    """The keys of one issuer.  ``step`` keeps them; ``find`` never waits.  Safe for threads."""

    def __init__(
        self,
        settings: Issuer,
        clock: Callable[[], float],
        fetch: Callable[[Issuer], Mapping[str, jwt.PyJWK]] = fetch_keys,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._fetch = fetch
        self._ticks = ticks
        self._keys: Mapping[str, jwt.PyJWK] = {}
        self._due = -1.0
        self._asked_at = float("-inf")
        self._missed = False
        self._retry = _FIRST_RETRY
        self.status = SourceStatus(settings.issuer)

    def find(self, name: str | None) -> jwt.PyJWK | None:
        """Return a key; without a name, the only one there is."""
        keys = self._keys
        if name is None:
            return next(iter(keys.values())) if len(keys) == 1 else None
        key = keys.get(name)
        if key is None:
            self._missed = True
        return key

    def step(self) -> float:
        """Read the keys if it is time to; return the seconds to wait."""
        now = self._ticks()
        if now < self._due and not (self._missed and now - self._asked_at >= _ASKED_FOR):
            return _PAUSE
        self._asked_at, self._missed = now, False
        try:
            self._keys = self._fetch(self._settings)
        except IssuerError as error:
            if self.status.detail != str(error):
                _log.warning("issuer failed", detail=str(error))
            self.status = replace(self.status, reachable=False, detail=str(error))
            self._due, self._retry = now + self._retry, min(2 * self._retry, _LAST_RETRY)
            return _PAUSE
        if not self.status.reachable:
            _log.info("issuer's keys read", issuer=self._settings.issuer, keys=len(self._keys))
        self.status = SourceStatus(self._settings.issuer, True, self._clock(), "")
        self._due, self._retry = now + self._settings.refresh, _FIRST_RETRY
        return _PAUSE


def _key(data: object) -> jwt.PyJWK | None:
    if not isinstance(data, dict) or data.get("kty") not in _KEY_TYPES or data.get("use", "sig") != "sig":
        return None
    try:
        return jwt.PyJWK(data)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None


def _json(pool: urllib3.PoolManager, url: str, seconds: float) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    timeout = urllib3.Timeout(connect=seconds, read=seconds)
    try:
        answer = pool.request("GET", url, timeout=timeout, preload_content=False, redirect=False)
        try:
            if answer.status != 200:
                raise IssuerError(f"{url} answered with status {answer.status}")
            body = bytearray()
            while chunk := answer.read1(_CHUNK):
                body += chunk
                if len(body) > _MAX_BODY:
                    raise IssuerError(f"the answer of {url} is too large")
                if time.monotonic() > deadline:
                    raise IssuerError(f"the answer of {url} took more than {seconds:g} s")
        finally:
            answer.close()
        decoded = json.loads(body)
    except urllib3.exceptions.HTTPError as error:
        raise IssuerError(f"{url} does not answer: {str(error).rpartition(': ')[2]}") from None
    except (ValueError, RecursionError):
        raise IssuerError(f"the answer of {url} is not JSON") from None
    if not isinstance(decoded, dict):
        raise IssuerError(f"the answer of {url} is not an object")
    return decoded
