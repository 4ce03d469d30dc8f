"""Ids of placements."""

from __future__ import annotations

import re

import pytest
from ses_service import ids
from ses_service.ids import RandomIds


def test_ids_are_sixteen_digits_and_all_different() -> None:
    given, other = RandomIds(), RandomIds()
    drawn = [one() for _ in range(1500) for one in (given, other)]
    assert all(re.fullmatch("[0-9a-f]{16}", one) for one in drawn)
    assert len(set(drawn)) == 3000


def test_an_id_is_never_all_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [bytes(4096), bytes(8) + b"\x01" * 4088]
    monkeypatch.setattr(ids.os, "urandom", lambda _: answers.pop(0))
    assert RandomIds()() == "01" * 8
