"""The load model: what a stream that starts now would get from an element.

Sources: design of QStorMan, section 4 (load model per element); the distance of
``max(C - m, C / (n + 1))`` as a lower bound of the max-min fair share, the priors for invisible
streams and the rule "an open file is not an active one" come from its simulations of least-loaded
placement with stale data (compare Mitzenmacher, TPDS 2000, and Dahlin, TPDS 2000).  The QStorMan
paper (Słota et al. 2012, section 4.1) names the kinds but publishes no formula.

Works on whole numpy columns, one entry per element and direction.  Unknown is ``nan``.  Rates are
bytes per second.  Does not model a limit shared by the elements of one server (the site
description has no rates for servers), a client's own limit, or caches.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ses_service.policies import Policies

Floats: TypeAlias = npt.NDArray[np.float64]


def active_streams(
    utilisation: Floats,
    queue_depth: Floats | None,
    open_at_sample: Floats,
    ended_since: Floats,
    read_ended: Floats,
    read_back: Floats,
    policies: Policies,
) -> Floats:
    """Return how many of the streams seen by the sample are still active.

    With ``u`` utilisation, ``q`` queue depth (``nan``, or no column, when not visible), ``L`` ledger
    placements open at the sample, ``K`` those of them that ended since, and ``R`` programs that read back
    what was closed before the sample and must be done by now (:mod:`ses_service.readers`)::

        b   = max(0, max(q, u) - L)                      if the depth is visible
            = 1.5 if u > .97 else u                      else, when L == 0
            = .35                                        else
        act = min(L + b, 1.5 u)                          if u < .97
            = max(1, L + b)                              else
        still active = act (L + b - k K - min(b, R)) / (L + b)

    A queue holds on average at least as many requests as the device is busy (Little's law), so a
    depth below ``u`` counts as ``u``: the kernel does not count what waits for a limit above it.

    What ended since is taken off in proportion, whether the sample was saturated or not: nobody can
    say which of the streams were the active ones.  Without that an element that was busy and is idle
    now ranks behind one that began to be busy in the middle of a long window (simulated with samples
    every 30 s: mean slowdown 1.12 of the clairvoyant rule's without, 0.99 with it).
    ``k`` is 1 where files are known to be read back (``read_back``), since then readers are counted, and
    ``ended_weight`` elsewhere: a file is still being written out after its end, and only the next sample
    can tell (simulated bursts: 12 % slower than round robin with 1, as fast with 0.5).
    """
    others = np.where(utilisation > policies.saturation, policies.saturated_prior, utilisation)
    others[open_at_sample != 0] = policies.busy_prior
    if queue_depth is not None:
        visible = ~np.isnan(queue_depth)
        depth = np.maximum(queue_depth[visible], utilisation[visible])
        others[visible] = np.maximum(0.0, depth - open_at_sample[visible])
    claimed = open_at_sample + others
    active = np.where(
        utilisation < policies.saturation,
        np.minimum(claimed, policies.activity_factor * utilisation),
        np.maximum(1.0, claimed),
    )
    part = np.divide(active, claimed, out=np.zeros_like(claimed), where=claimed > 0)
    taken_off = np.where(read_back > 0, 1.0, policies.ended_weight) * ended_since
    return part * np.maximum(0.0, claimed - taken_off - np.minimum(others, read_ended))


def utilisation_of(
    read_rate: Floats, write_rate: Floats, read_capability: Floats, write_capability: Floats
) -> Floats:
    """Return which part of an element its readers and writers use together, 0 to 1.

    They share one device: a disk that reads at 60 % of its rate has 40 % of its time left to write
    in, however little it was written to.  Elements that do both at once at full rate (duplex links,
    separate limits) are taken for busier than they are.  A direction without a measured or a nominal
    rate counts as unused; both unknown give ``nan``.
    """
    reading, writing = read_rate / read_capability, write_rate / write_capability
    unknown = np.isnan(reading) & np.isnan(writing)
    both = np.where(np.isnan(reading), 0.0, reading) + np.where(np.isnan(writing), 0.0, writing)
    return np.where(unknown, np.nan, np.minimum(1.0, both))


def predicted_share(
    capability: Floats,
    utilisation: Floats,
    queue_depth: Floats | None,
    open_at_sample: Floats,
    placed_since: Floats,
    ended_since: Floats,
    read_ended: Floats,
    read_back: Floats,
    policies: Policies,
) -> Floats:
    """Return the rate a newcomer would get where the monitor's data are fresh.

    With ``C`` the capability, ``u`` the utilisation and ``S`` placements made since the sample and
    still there, with programs that are expected to read back what was closed since::

        n = act + S
        a = C / (n + 1)                                  if S > 0 or u >= .97
          = max(C (1 - u), C / (n + 1))                  else

    ``nan`` in ``capability`` or ``utilisation`` gives ``nan``.
    """
    active = active_streams(
        utilisation, queue_depth, open_at_sample, ended_since, read_ended, read_back, policies
    )
    fair = capability / (active + placed_since + 1.0)
    crowded = (placed_since > 0) | (utilisation >= policies.saturation)
    return np.where(crowded, fair, np.maximum(capability * (1.0 - utilisation), fair))


def in_doubt(share: Floats, capability: Floats, doubt: Floats, sure: float) -> Floats:
    """Return the share to go by where ``doubt`` more streams may be there, or not.

    ``share`` is without them, ``sure`` the best share that any element has even with those it may have.
    A doubt that could make the difference must not: within what it leaves open, an element is taken to
    offer what the best one surely does, so that turns decide between the two::

        a = min(share, max(sure, C / (C / share + doubt)))

    Taken for gone, a reader that is still there draws a file to a busy element out of turn; taken for there,
    one that is gone keeps a file from an idle element.  Either costs simulated users on equal elements more
    than 1 % of their time.
    """
    return np.minimum(share, np.maximum(sure, with_doubt(share, capability, doubt)))


def with_doubt(share: Floats, capability: Floats, doubt: Floats) -> Floats:
    """Return the share with all the streams there that may be there.

    Streams are rounded to 9 digits, so that ``C / (1 + 1 + 1)`` is the same number however it was reached.
    """
    return np.where(doubt > 0, capability / np.round(capability / share + doubt, 9), share)


def unseen_share(capability: Floats, open_now: Floats, others: float) -> Floats:
    """Return the share without a usable observation: ``C / (open placements + others + 1)``.

    ``others`` is 0 when no element can be seen (static facts and ledger alone decide), and
    ``Policies.unseen_streams`` when only some cannot, so that they never look idle.
    """
    return capability / (open_now + others + 1.0)
