"""What makes a scenario."""

from __future__ import annotations

from dataclasses import dataclass

from ses_core import Kind

MB, GB = 1e6, 1e9


@dataclass(frozen=True, slots=True)
class Scenario:
    """One hard case.  Sizes are bytes, times seconds, ``says`` is for people.

    Files
        ``rho`` is the load as a part of what all elements can really do at the start.  Files have
        log-normal sizes with the mean ``mean`` and the shape ``sigma`` (0: all alike), or Pareto sizes with
        the exponent ``tail``; a part ``large_part`` of them, and all from the part ``large_from`` on, are
        ``large`` times as large.  They come ``burst`` at a time, at random or at ``regular`` moments,
        ``files`` in all.  ``managed`` of the arrivals are placed by the rule, the others at random.  A part
        ``idle`` of the files stay open for ``idle_seconds`` after the last byte.  A part ``behind`` of each
        file is written after its close, out of the cache of its node.  Each asks for the rate (``kind``) in
        ``needs`` that is its user's turn: of ``users`` drawn at random where files come singly.  Users of
        every second round of ``needs`` take no more than that (``modest``), or their needs are ``hard``.
        Where a rate of reading is asked for, files are read back, and that is measured.
    Nodes
        Files are created on ``nodes``, ``ranks`` of a burst on each; agents speak with the service every
        ``pace`` (0: as the service sets it) and see a close up to ``close_poll`` late.  Node ``k`` creates
        a part of them that goes with ``1 / k ** zipf``, or the first one ``busiest`` of all.  After a third
        of the others the first node also creates ``rush`` files of ``rush_size`` at one moment.  Processes of
        a burst know no rank where they are ``unranked``.
    Elements
        Their rates lie evenly between the two of ``rates``; 500 MB/s if there are none.
        A part ``slow`` of the ``elements`` run at ``slow_speed``, described so or not, and from the moment
        ``slow_from`` on.  Each further writer costs an element ``loss`` of its speed.  Rates are described
        wrongly by a factor between ``1 - wrong`` and ``1 + wrong``.  A part ``flapping`` run at
        ``flap_speed`` for ``flap_seconds`` in every four times that.  ``machine`` elements each share a
        link of ``link`` bytes a second (0: no limit), which the site states or not; only those of the first
        ``linked`` machines do (0: all).  With ``capacity`` (what all files together take of
        it, 0: never full) every other element has a quarter of the space of the rest.  At the start all but
        every eighth element are ``full`` to that part.
    Others
        ``strangers`` programs that nobody places write files of ``STRANGER_FILE`` bytes one after the other
        to one element, for ``stranger_stays`` on average, and go on with another element.  Programs read
        files that exist with a load of ``old_files``; some elements hold more of these than others.
    Monitor
        Samples are taken every ``interval``, known ``delay`` later, are plain means or exponential ones
        with the time ``constant``, and tell queues or not (``depth``).  It is away from the part
        ``away`` of the files on.
    ``workflow`` names what is played in place of single files.  ``judged`` is what rules are compared by:
    the ``mean`` slowdown, that of the ``last`` file of a burst or rush (or of a whole workflow), or files
    that found no ``room``.
    """

    name: str
    says: str
    rho: float = 0.8
    mean: float = 8 * GB
    sigma: float = 1.5
    tail: float = 0.0
    interval: float = 5.0
    delay: float = 0.0
    constant: float = 0.0
    depth: bool = False
    away: float = 1.0
    elements: int = 64
    rates: tuple[float, float] | None = None
    burst: int = 1
    regular: bool = False
    files: int = 12_000
    managed: float = 1.0
    slow: float = 0.0
    slow_speed: float = 1.0
    slow_known: bool = False
    slow_from: float = 0.0
    wrong: float = 0.0
    large: float = 1.0
    large_part: float = 0.0
    large_from: float = 1.0
    flapping: float = 0.0
    flap_speed: float = 0.05
    flap_seconds: float = 20.0
    loss: float = 0.0
    machine: int = 8
    link: float = 0.0
    link_stated: bool = False
    linked: int = 0
    capacity: float = 0.0
    full: float = 0.0
    behind: float = 0.0
    needs: tuple[float, ...] = ()
    modest: bool = False
    hard: bool = False
    kind: Kind = Kind.CURRENT_WRITE
    idle: float = 0.0
    idle_seconds: float = 60.0
    nodes: int = 1
    ranks: int = 1
    unranked: bool = False
    zipf: float = 0.0
    busiest: float = 0.0
    rush: int = 0
    rush_size: float = 1 * GB
    users: int = 0
    pace: float = 0.0
    close_poll: float = 0.0
    strangers: int = 0
    stranger_stays: float = 60.0
    old_files: float = 0.0
    workflow: str = ""
    spaced: float = 0.0
    judged: str = "mean"
