"""The decision in plain Python, written from the text of ses/core.h: slow, and easy to compare with it."""

import math
from typing import Any

import numpy as np
from ses_core import Cause, Kind, Order, Refusal, State

NAN = math.nan
RATES = (Kind.CURRENT_READ, Kind.AVERAGE_READ, Kind.CURRENT_WRITE, Kind.AVERAGE_WRITE)
READS = (Kind.CURRENT_READ, Kind.AVERAGE_READ)
WRITES = (Kind.CURRENT_WRITE, Kind.AVERAGE_WRITE)


def known(value: float) -> bool:
    return not math.isnan(value)


def share(capability: float, streams: float, limit: float) -> float:
    if not known(capability):
        return limit
    got = capability / (streams + 1)
    return min(got, limit) if known(limit) else got


def predict(row: Any, claims: float, of_server: float, policy: Any) -> dict[int, float]:
    """What a newcomer gets, by kind; OF_SERVER are the claims on all elements of its server."""
    ours = row["own"] + claims
    limit = row["server_rate"] / (row["server_streams"] + of_server + 1)
    offer = {}
    for kind, average, rate in (
        (Kind.CURRENT_READ, Kind.AVERAGE_READ, "read_rate"),
        (Kind.CURRENT_WRITE, Kind.AVERAGE_WRITE, "write_rate"),
    ):
        if not known(row[rate]):
            offer[kind] = offer[average] = NAN
            continue
        offer[kind] = share(row[rate], ours + row["foreign"], limit)
        over_time = share(row[rate], ours + row["foreign_average"], NAN)
        offer[average] = min(over_time, offer[kind])
    free = row["free"] if known(row["free"]) else row["size"]
    offer[Kind.FREE] = max(0.0, free - row["reserved"]) if known(free) else NAN
    for place, value in enumerate(row["stated"]):
        offer[Kind.STATED_FIRST + place] = float(value)
    return offer


def shortfall(requirement: Any, value: float) -> float:
    bound = requirement["bound"]
    if requirement["at_most"]:
        if not known(value):
            return 1.0
        return min(1.0, 1 - bound / value) if value > bound else 0.0
    if bound <= 0:
        return 0.0
    return 1.0 if not known(value) else min(1.0, max(0.0, 1 - value / bound))


def state_refusal(row: Any, excluded: bool) -> Refusal:
    if excluded:
        return Refusal.EXCLUDED
    for state, refusal in (
        (State.INACTIVE, Refusal.INACTIVE),
        (State.READ_ONLY, Refusal.READ_ONLY),
        (State.DRAINING, Refusal.DRAINING),
    ):
        if int(row["state"]) & state:
            return refusal
    return Refusal.ACCEPTED


def claims_by_server(table: Any, claims: Any) -> list[float]:
    """Of each row the claims on all elements of its server."""
    return [
        sum(
            float(count)
            for count, other in zip(claims, table, strict=True)
            if other["server"] == row["server"]
        )
        for row in table
    ]


def judge_row(
    row: Any, claims: float, of_server: float, excluded: bool, need: Any, policy: Any, ample: float
) -> dict[str, Any]:
    offer = predict(row, claims, of_server, policy)
    requirements = need["requirements"][: need["count"]]
    refusal = state_refusal(row, excluded)
    free = offer[Kind.FREE]
    least, tight = policy["minimum_free"], 0.0
    if need["bytes"] >= 0:
        least = max(least, need["bytes"]) + claims * need["bytes"]
    else:
        of_size = policy["room_fraction"] * row["size"] if need["room"] < 0 else 0.0
        of_files = need["room"] * (1 + 0.3 * (float(row["own"]) + claims))
        tight = max(room for room in (of_size, of_files, ample) if known(room) and room >= 0)
    if refusal == Refusal.ACCEPTED and known(free) and free < least:
        refusal = Refusal.NO_ROOM
    missing = [shortfall(requirement, offer[int(requirement["kind"])]) for requirement in requirements]
    unmet = 0
    for place, (required, by) in enumerate(zip(requirements, missing, strict=True)):
        if refusal == Refusal.ACCEPTED and required["hard"] and by > 0:
            refusal, unmet = Refusal.REQUIREMENT, place
    weights = sum(float(requirement["weight"]) for requirement in requirements)
    squares = sum(
        float(requirement["weight"]) * by**2 for requirement, by in zip(requirements, missing, strict=True)
    )
    distance = math.sqrt(squares / weights) if weights else 0.0
    rates = [
        requirement
        for requirement in requirements
        if requirement["kind"] in RATES and not requirement["at_most"]
    ]
    got = offer[Kind.CURRENT_WRITE]
    if any(rate["kind"] in READS for rate in rates):
        read = offer[Kind.CURRENT_READ]
        if got == 0 or read == 0:
            got = 0.0 if known(got) and known(read) else NAN
        else:
            got = 1 / (1 / got + 1 / read)
    if not known(got):
        got = 1 / (row["own"] + claims + row["foreign"] + 1)
    return {
        "distance": distance,
        "share": got,
        "harm": harm(row, claims, of_server, offer[Kind.CURRENT_WRITE], requirements, policy),
        "refusal": refusal,
        "unmet": unmet,
        "low_space": int(known(free) and free < tight),
    }


def harm(row: Any, claims: float, of_server: float, after: float, asked: Any, policy: Any) -> float:
    """What own streams on ROW lose where a stream more leaves each AFTER."""
    bounds = [
        float(requirement["bound"])
        for requirement in asked
        if requirement["kind"] in WRITES and not requirement["at_most"]
    ]
    writing = max(bounds, default=0.0)
    promises, promised = float(row["promises"]), float(row["promised"])
    if writing > 0 and claims:
        promises, promised = promises + claims, max(promised, writing)
    if not promises or not promised or not known(row["write_rate"]):
        return 0.0
    before = row["write_rate"] / max(1.0, row["own"] + claims + row["foreign"])
    if known(row["server_rate"]):
        before = min(before, row["server_rate"] / max(1.0, row["server_streams"] + of_server))
    before, after = before * (1 + 1e-15), after * (1 + 1e-15)  # what equals a promise keeps it
    lost = max(0.0, 1 - after / promised) - max(0.0, 1 - before / promised)
    weight = policy["harm_weight"]
    broken = after < row["promised_hard"] <= before
    return float(min(1000.0, max(0.0, weight * promises * lost) + 100.0 * broken))


def judge(table: Any, claims: Any, excluded: list[bool], need: Any, policy: Any) -> list[dict[str, Any]]:
    of_servers = claims_by_server(table, claims)
    ample = min(4.0 * 2**30, 0.6 * max((size for size in table["size"] if size > 0), default=0.0))
    verdicts = [
        judge_row(row, float(claims[place]), of_servers[place], excluded[place], need, policy, ample)
        for place, row in enumerate(table)
    ]
    takes = [place for place, verdict in enumerate(verdicts) if verdict["refusal"] == Refusal.ACCEPTED]
    degraded = [place for place in takes if int(table[place]["state"]) & State.DEGRADED]
    if len(degraded) < len(takes):
        for place in degraded:
            verdicts[place]["refusal"] = Refusal.DEGRADED
    return verdicts


def step(behind: float, width: float) -> float:
    """Which step of WIDTH holds BEHIND; what lies at the end of one is in it."""
    return max(0, math.ceil(behind / width - 1e-4) - 1) if known(behind) else math.inf


# What of the order each member of a key is.
ORDERED_BY = (Order.ROOM, *(order for order in Order if order not in (Order.FIRST, Order.HARM)))


def keys(
    table: Any,
    claims: Any,
    verdicts: Any,
    need: Any,
    policy: Any,
    candidate_limit: int,
    first: int = 0,
    ignored: bool = False,
) -> dict[int, tuple[Any, ...]]:
    """Of the accepted rows what orders them, by the verdicts of the core: rounding is not judged twice."""
    takes = [place for place, verdict in enumerate(verdicts) if verdict["refusal"] == Refusal.ACCEPTED]
    if not takes:
        return {}
    roomy = [place for place in takes if not verdicts[place]["low_space"]] or takes

    def missed(place: int) -> float:
        return float(verdicts[place]["distance"] + verdicts[place]["harm"])

    nearest = min(map(missed, roomy))

    def far(place: int) -> float:
        return step(missed(place) - nearest, policy["equal_distance"])

    def visited(place: int) -> int:
        return (place - first) % len(verdicts)

    near = sorted((place for place in roomy if far(place) == 0), key=visited)
    compared = near[:candidate_limit] if candidate_limit else near
    asked = need["requirements"][: need["count"]]
    rates = any(requirement["kind"] in RATES and not requirement["at_most"] for requirement in asked)
    bounds = [
        float(requirement["bound"])
        for requirement in asked
        if requirement["kind"] in WRITES and not requirement["at_most"]
    ]
    writing = max(bounds, default=0.0)

    def fast(place: int) -> bool:
        row = table[place]
        meets = rates and verdicts[place]["distance"] == 0
        return bool(meets and writing < row["kept_for"] <= row["write_rate"])

    def share_of(place: int) -> float:
        return float(verdicts[place]["share"])

    others = [share_of(place) for place in compared if not fast(place) and verdicts[place]["distance"] == 0]
    spared = max(others, default=0.0)

    def kept(place: int) -> bool:
        least = np.float64(policy["kept_share"]) * share_of(place)
        return fast(place) and spared > 0 and bool(spared * 1.00001 >= least)

    best = max((share_of(place) for place in compared if not kept(place)), default=0.0)
    beyond = visited(compared[-1]) + 1 if candidate_limit and len(near) >= candidate_limit else len(verdicts)

    def key(place: int) -> tuple[Any, ...]:
        verdict, row = verdicts[place], table[place]
        free = row["free"] if known(row["free"]) else row["size"]
        streams = max(0.0, float(row["own"])) + float(claims[place])
        got = float(verdict["share"])
        behind = 0 if got >= best else step((best - got) / best if best else NAN, policy["equal_share"])
        return (
            bool(verdict["low_space"]),
            -max(0.0, float(free - row["reserved"])) / (streams + 1) if verdict["low_space"] else 0,
            far(place),
            visited(place) >= beyond,
            rates and verdict["distance"] == 0 and bool(int(row["state"]) & State.SCARCE),
            kept(place),
            behind,
            row["own"] + claims[place],
            int(row["foreign"] / policy["equal_foreign"]),
            0 if ignored or (candidate_limit and row["own"] + claims[place] <= 0) else row["last_placed"],
            visited(place),
        )  # fmt: skip

    return {place: key(place) for place in takes}


def stripe(table: Any, claims: Any, ranked: list[int], need: Any, policy: Any) -> tuple[list[int], Cause]:
    """The rows of one file, of those RANKED, and what decided how many."""
    if not ranked:
        return [], Cause.NOTHING
    rounds: dict[int, int] = {}
    by_round = []
    for place, row in enumerate(ranked):
        server = int(table[row]["server"])
        by_round.append((rounds.get(server, 0), place, row))
        rounds[server] = rounds.get(server, 0) + 1
    spread = [row for _, _, row in sorted(by_round)]
    of_servers = claims_by_server(table, claims)
    offers = {row: predict(table[row], float(claims[row]), of_servers[row], policy) for row in spread}
    if need["stripes"] and not policy["overrule_hints"] and len(spread) > 1:
        hinted = int(need["stripes"])
        return (spread[:hinted], Cause.HINT) if hinted <= len(spread) else (spread, Cause.ELEMENTS)
    idle = sum(
        offers[row][Kind.CURRENT_WRITE] > share(table[row]["write_rate"], 0, table[row]["server_rate"]) / 1.5
        for row in spread
    )
    caps = [(len(spread), Cause.ELEMENTS), (int(policy["max_stripes"]), Cause.SITE)]
    if need["bytes"] >= 0:
        caps.append((max(1, int(need["bytes"] // policy["stripe_bytes"])), Cause.SIZE))
    caps.append((max(1, idle // 2), Cause.IDLE))
    limit, cause = min(caps, key=lambda cap: cap[0])
    rates = [
        requirement
        for requirement in need["requirements"][: need["count"]]
        if requirement["kind"] in RATES and not requirement["at_most"]
    ]
    if not rates:
        if need["bytes"] < 0 or limit == 1:
            return spread[:1], Cause.NOTHING
        return spread[:limit], cause
    before: dict[int, int] = {}  # stripes of the file, by server
    for row in spread:
        server = int(table[row]["server"])
        there = before[server] = before.get(server, -1) + 1
        offers[row] = predict(table[row], float(claims[row]), of_servers[row] + there, policy)
    for count in range(1, limit + 1):
        got = [[offers[row][int(rate["kind"])] for row in spread[:count]] for rate in rates]
        sums = [sum(rate for rate in offered if known(rate)) for offered in got]
        if all(total >= rate["bound"] for total, rate in zip(sums, rates, strict=True)):
            return spread[:count], Cause.RATE
    return spread[:limit], cause
