"""What a file needs: a StoragePolicy."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

from ses.api.amount import gb, mb_per_s, whole_bytes
from ses.api.library import Status, describe, ffi, library


class Kind(IntEnum):
    """What a requirement is about; rates in MB/s, capacity in GB."""

    CURRENT_READ_RATE = 1
    AVERAGE_READ_RATE = 2
    CURRENT_WRITE_RATE = 3
    AVERAGE_WRITE_RATE = 4
    FREE_CAPACITY = 5


class StoragePolicy:
    """What a file needs.  What is not set comes from the portal: application, user, VO, site.

    Rates are the least rate for one stream in MB/s (10^6 bytes per second), 0 lifts what the portal says;
    ``capacity`` is the least free space in GB (10^9 bytes); ``expected_size`` and ``stripe_size`` are bytes.
    Each may also be a text with a unit: ``"50MB/s"``, ``"100GB"``, ``"1.5 TiB"``.  A refused value raises
    ValueError and leaves the policy as it was.  May be used by several threads as long as none changes it.
    """

    def __init__(
        self,
        *,
        current_read_rate: float | str | None = None,
        average_read_rate: float | str | None = None,
        current_write_rate: float | str | None = None,
        average_write_rate: float | str | None = None,
        capacity: float | str | None = None,
        expected_size: int | str | None = None,
        stripe_count: int | None = None,
        stripe_size: int | str | None = None,
        pool: str | None = None,
        application: str | None = None,
    ) -> None:
        self._c = library()
        self._policy = _owned(self._c.ses_policy_new())
        self._settings: dict[str, object] = {}
        stated: tuple[tuple[Callable[[Any], None], Any], ...] = (
            (self.set_current_read_rate, current_read_rate),
            (self.set_average_read_rate, average_read_rate),
            (self.set_current_write_rate, current_write_rate),
            (self.set_average_write_rate, average_write_rate),
            (self.set_capacity, capacity),
            (self.set_expected_size, expected_size),
            (self.set_stripe_size, stripe_size),
            (self.set_stripe_count, stripe_count),
            (self.set_pool, pool),
            (self.set_application, application),
        )
        for state, value in stated:
            if value is not None:
                state(value)

    def copy(self) -> StoragePolicy:
        """Return a policy of its own with the same content."""
        other = object.__new__(StoragePolicy)
        other._c = self._c
        other._policy = _owned(self._c.ses_policy_copy(self._policy))
        other._settings = dict(self._settings)
        return other

    def __repr__(self) -> str:
        """What was set, in the words of the constructor; weights and hardness as ``KIND.weight``."""
        return f"StoragePolicy({', '.join(f'{name}={value!r}' for name, value in self._settings.items())})"

    def set_current_read_rate(self, rate: float | str) -> None:
        """At least this rate for a stream that starts now, in MB/s, or a text like ``"50MB/s"``."""
        self._set("current_read_rate", mb_per_s("current_read_rate", rate))

    def set_average_read_rate(self, rate: float | str) -> None:
        """At least this rate, judged over the monitor's long window, in MB/s, or a text like ``"50MB/s"``."""
        self._set("average_read_rate", mb_per_s("average_read_rate", rate))

    def set_current_write_rate(self, rate: float | str) -> None:
        """At least this rate for a stream that starts now, in MB/s, or a text like ``"50MB/s"``."""
        self._set("current_write_rate", mb_per_s("current_write_rate", rate))

    def set_average_write_rate(self, rate: float | str) -> None:
        """At least this rate, judged over the monitor's long window, in MB/s, or a text like ``"50MB/s"``."""
        self._set("average_write_rate", mb_per_s("average_write_rate", rate))

    def set_capacity(self, space: float | str) -> None:
        """At least this much free space on the element, in GB, or a text like ``"100GB"``."""
        self._set("capacity", gb("capacity", space))

    def set_weight(self, kind: Kind, weight: float) -> None:
        """How much the shortfall of one kind counts against the others; above 0, 1 unless set."""
        self._set("weight", int(kind), float(weight))
        self._settings[f"{Kind(kind).name}.weight"] = float(weight)

    def set_hard(self, kind: Kind, hard: bool = True) -> None:
        """Refuse elements that miss this kind, even if the file is then not placed at all."""
        self._set("hard", int(kind), int(hard))
        self._settings[f"{Kind(kind).name}.hard"] = hard

    def clear(self, kind: Kind) -> None:
        """Say nothing about this kind any more."""
        _check("kind", self._c.ses_policy_clear(self._policy, int(kind)))
        name = Kind(kind).name
        for key in (name.lower().removeprefix("free_"), f"{name}.weight", f"{name}.hard"):
            self._settings.pop(key, None)

    def set_expected_size(self, size: int | str) -> None:
        """How large the file is going to be, in bytes, or a text like ``"4GiB"``."""
        self._set("expected_size", _unsigned("expected_size", whole_bytes("expected_size", size), 64))

    def set_stripe_count(self, count: int) -> None:
        """Over how many elements to spread the file; 0: as the service chooses."""
        self._set("stripe_count", _unsigned("stripe_count", count, 32))

    def set_stripe_size(self, size: int | str) -> None:
        """How much goes to one element before the next one's turn, in bytes, or a text like ``"4MiB"``.

        A multiple of 65536 bytes; 0: as the service chooses.
        """
        self._set("stripe_size", _unsigned("stripe_size", whole_bytes("stripe_size", size), 64))

    def set_pool(self, pool: str) -> None:
        """Only elements of this pool; "": any."""
        self._set("pool", _text("pool", pool))

    def set_application(self, application: str | None) -> None:
        """Use what the portal has for this application of the calling user; ``None`` takes that back."""
        value = ffi.NULL if application is None else _text("application", application)
        self._set("application", value)
        if application is None:
            self._settings.pop("application", None)

    @property
    def handle(self) -> Any:
        """For calls of the C library; owned by this object."""
        return self._policy

    def _set(self, name: str, *values: Any) -> None:
        _check(name, getattr(self._c, f"ses_policy_set_{name}")(self._policy, *values))
        if name not in ("weight", "hard"):
            self._settings[name] = values[0].decode() if isinstance(values[0], bytes) else values[0]


def _owned(policy: Any) -> Any:
    if policy == ffi.NULL:
        raise MemoryError
    return ffi.gc(policy, library().ses_policy_free)


def _check(name: str, status: int) -> None:
    if status != Status.OK:
        raise ValueError(f"{name}: {describe(status)}")


def _unsigned(name: str, value: int, bits: int) -> int:
    if not 0 <= value < 1 << bits:
        raise ValueError(
            f"{name}: {describe(Status.REFUSED_NEGATIVE if value < 0 else Status.REFUSED_TOO_LARGE)}"
        )
    return value


def _text(name: str, value: str) -> bytes:
    if "\0" in value:
        status = Status.REFUSED_POOL if name == "pool" else Status.REFUSED_APPLICATION
        raise ValueError(f"{name}: {describe(status)}")
    return value.encode()
