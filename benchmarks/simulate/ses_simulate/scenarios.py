"""The hard scenarios by name.  Numbers only (``ses_simulate/cases``); :mod:`ses_simulate.hard` plays them."""

from __future__ import annotations

from collections.abc import Mapping

from ses_simulate.cases import bursts, hard, needs, sites, skew, space, wrong
from ses_simulate.cases.scenario import Scenario

SCENARIOS: Mapping[str, Scenario] = {
    entry.name: entry
    for group in (hard.CASES, wrong.CASES, bursts.CASES, sites.CASES, space.CASES, needs.CASES, skew.CASES)
    for entry in group
}
