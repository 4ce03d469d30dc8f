"""``ses calibrate --node``: what this node gives to streaming programs, for the knowledge base."""

from __future__ import annotations

import platform
import socket
from dataclasses import asdict, replace
from datetime import UTC, datetime

from ses_client.errors import SesError

from ses.literal import PREFIXES, literal, quantity
from ses.node_calibration import NodeRates, address_of, io_links, measure_link, measure_node, receive
from ses.output import console, line, print_json, say, table

_METHOD = "ses calibrate --node: copies of 64 MiB timed by processor time, best of 8"


def calibrate_node(as_json: bool, peer: str | None, listen: str | None, seconds: float) -> None:
    """Measure this node, or with ``listen`` be the peer of one that is measured; print what was found."""
    if listen is not None:
        _listen(listen)
        return
    rates = measure_node()
    if peer is not None:
        rates = replace(rates, link=measure_link(address_of(peer), seconds))
    text = turtle_of(platform.node(), rates, datetime.now(UTC))
    if as_json:
        more = {"memory_bus": rates.memory_bus, "io_links": io_links(), "turtle": text}
        print_json({**asdict(rates), **more})
        return
    out = console()
    rows = [
        ["cores", str(rates.cores)],
        ["copying, one core", f"{rates.core_copy / 1e6:.0f} MB/s"],
        ["copying, all cores", f"{rates.all_copy / 1e6:.0f} MB/s"],
        ["memory bus", f"{rates.memory_bus / 1e6:.0f} MB/s"],
        [
            "link to the peer",
            "not measured (--peer)" if rates.link is None else f"{rates.link / 1e6:.0f} MB/s",
        ],
        [
            "instructions, all cores",
            "no counters" if rates.instructions is None else f"{rates.instructions / 1e6:.0f} million/s",
        ],
        *([f"I/O link of {name}", f"{rate / 1e6:.0f} MB/s"] for name, rate in io_links().items()),
    ]
    table(out, ("of this node", ">measured"), rows)
    line(out, "\nTo keep it: ses kb import, with\n")
    line(out, text)


def turtle_of(host: str, measured: NodeRates, now: datetime) -> str:
    """Return the measurement as Turtle, with its date and method."""
    rates = {"coreCopyRate": measured.core_copy, "memoryRate": measured.memory_bus, "linkRate": measured.link}
    facts = "".join(
        f"    qsm:{name} {quantity(rate / 1e6, 'MegaBYTE-PER-SEC')} ;\n"
        for name, rate in rates.items()
        if rate is not None
    )
    method = _METHOD if measured.link is None else f"{_METHOD}; one TCP stream to a peer"
    name = "".join(character if character.isalnum() or character in "-." else "-" for character in host)
    return f"""{PREFIXES}
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

<https://w3id.org/qstorman/site/calibration/{name}> a qsm:NodeCalibration ;
    qsm:name {literal(name)} ;
    qsm:cores {measured.cores} ;
{facts}    qsm:calibratedAt "{now:%Y-%m-%dT%H:%M:%SZ}"^^xsd:dateTime ;
    qsm:calibrationMethod {literal(method)} ."""


def _listen(where: str) -> None:
    host, port = address_of(where)
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.create_server((host, port), family=family) as server:
            say(f"Waiting for one ses calibrate --node --peer at {where} ...", err=True)
            received = receive(server)
    except OSError as error:
        raise SesError(f"Nothing was received at {where}: {error}.") from None
    say(f"Received {received / 1e6:.0f} MB.", err=True)
