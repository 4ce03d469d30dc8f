"""What Table 1 runs, in which order, and by which chance.  Pure.

Three kinds of run, for each background and number of users:

* ``half``: half of the users under the library, the others placed by the baseline;
* ``all``: everyone under the library;
* ``none``: everyone placed by the baseline.  Its two halves are the A/A control: what they differ by
  is noise.

and ``lone``: one user on idle branches, with and without the library, against the ideal time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

UNION_BASELINES = {"random": "rand", "pfrd": "pfrd", "mfs": "mfs", "lus": "lus"}
ROUND_ROBIN = "roundrobin"
MANAGERS = ("wass", "two-true")  # one manager to which every create and close is reported at once
BASELINES = ("random", ROUND_ROBIN, "pfrd", "mfs", "lus", *MANAGERS)
LONE_BASELINE = "random"
KINDS = ("all", "half", "none")


@dataclass(frozen=True, slots=True)
class Run:
    """One run.  ``supported`` users are under the library, the others placed by ``baseline``."""

    kind: str
    background: str
    users: int
    supported: int
    baseline: str
    repeat: int


@dataclass(frozen=True, slots=True)
class Draws:
    """What chance decides for a run, the same for all kinds and baselines of a repetition.

    ``first`` is the branch (from 0 on) of each user's first input, ``starts`` when each begins, and
    ``order`` the users: those at its beginning are the supported ones.
    """

    first: tuple[int, ...]
    starts: tuple[float, ...]
    order: tuple[int, ...]
    turn: int
    background_seed: str


def runs(
    users: Sequence[int],
    backgrounds: Sequence[str],
    baselines: Sequence[str],
    repeats: int,
    seed: int,
    kinds: Sequence[str] = KINDS,
) -> Iterator[Run]:
    """Return all runs in order: kinds and baselines take turns, in another order each time."""
    chance = Random(f"order {seed}")
    yield Run("lone", "none", 1, 0, LONE_BASELINE, 1)
    yield Run("lone", "none", 1, 1, LONE_BASELINE, 1)
    for repeat in range(1, repeats + 1):
        for background in backgrounds:
            for count in users:
                todo = [Run("all", background, count, count, "", repeat)]
                for baseline in baselines:
                    todo.append(Run("half", background, count, count // 2, baseline, repeat))
                    todo.append(Run("none", background, count, 0, baseline, repeat))
                yield from (run for run in chance.sample(todo, len(todo)) if run.kind in kinds)


def draws(run: Run, seed: int, branches: int, spread: float) -> Draws:
    """Return what chance decides for a run: paired between kinds and baselines."""
    name = f"{seed} {run.background} {run.users} {run.repeat}"
    chance = Random(name)
    return Draws(
        first=tuple(chance.randrange(branches) for _ in range(run.users)),
        starts=tuple(chance.uniform(0.0, spread) for _ in range(run.users)),
        order=tuple(chance.sample(range(run.users), run.users)),
        turn=chance.randrange(branches) + 1,
        background_seed=f"background {name}",
    )
