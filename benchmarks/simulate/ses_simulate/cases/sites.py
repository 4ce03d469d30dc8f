"""Sites of other kinds and sizes, and work of other kinds."""

from __future__ import annotations

from functools import partial

from ses_simulate.cases.scenario import GB, MB, Scenario

_Product = partial(Scenario, rho=0.7, interval=1.0, constant=2.0, nodes=64, close_poll=0.5, files=6_000)

CASES = (
    _Product("pareto", "Pareto sizes, exponent 1.3", tail=1.3),
    _Product("links", "four elements share a link of twice one's rate", rho=0.7, machine=4, link=1.0 * GB),
    _Product("links-stated", "the same, and the site states it", machine=4, link=1.0 * GB, link_stated=True),
    _Product("links-narrow", "the same, of one's rate, stated", machine=4, link=0.5 * GB, link_stated=True),
    _Product(
        "links-strangers",
        "links of twice one's rate, stated; 24 strangers",
        rho=0.5,
        machine=4,
        link=1.0 * GB,
        link_stated=True,
        strangers=24,
    ),
    _Product(
        "one-link",
        "8 of 16 elements share a link of twice one's rate, stated",
        elements=16,
        machine=8,
        link=1.0 * GB,
        linked=1,
        link_stated=True,
        nodes=8,
    ),
    _Product("elements-8", "8 elements, load 0.8", rho=0.8, elements=8, files=3_000),
    _Product("elements-16-small", "16 elements, 0.8 GB, load 0.8", rho=0.8, elements=16, mean=0.8 * GB),
    _Product("elements-250", "250 elements, 0.8 GB, load 0.8", rho=0.8, elements=250, mean=0.8 * GB),
    _Product("elements-1000", "1,000 elements, 0.8 GB, load 0.8", rho=0.8, elements=1000, mean=0.8 * GB),
    _Product(
        "small-needs",
        "all ask for 20 MB/s, rates described within 2 %",
        rho=0.5,
        elements=16,
        nodes=32,
        mean=2 * GB,
        wrong=0.02,
        needs=(20 * MB,),
        files=3_000,
    ),
    _Product("nodes-64", "64 nodes, 0.8 GB, load 0.8", rho=0.8, mean=0.8 * GB),
    _Product("nodes-1000", "1,000 nodes, 0.8 GB, load 0.8", rho=0.8, mean=0.8 * GB, nodes=1000),
    _Product(
        "workflows", "executions of genomics workflows", workflow="genomics", files=3_000, judged="last"
    ),
)
