"""What one way in takes of a requirement's numbers, all take; what one refuses, all refuse."""

from __future__ import annotations

import re
from pathlib import Path

import ses_client.limits
from rdflib import SH, Graph, URIRef
from ses_service.knowledge.terms import ODRL, QSM
from ses_service.model import limits

ROOT = Path(__file__).parents[2]
HEADER = (ROOT / "libses/include/ses/limits.h").read_text()
IN_C = {name: float(value) for name, value in re.findall(r"#define SES_(\w+_MAX) (\S+)", HEADER)}


def _in_shapes(path: URIRef, limit: URIRef) -> set[float]:
    shapes = Graph().parse(ROOT / "ontology/shapes.ttl")
    found = [
        float(str(one)) for node in shapes.subjects(SH.path, path) for one in shapes.objects(node, limit)
    ]
    return set(found)


def test_the_limits_are_the_same_numbers_in_every_language() -> None:
    assert (IN_C["BOUND_MAX"], IN_C["WEIGHT_MAX"]) == (limits.MAX_BOUND, limits.MAX_WEIGHT)
    assert (IN_C["RATE_MAX"] * 1e6, IN_C["CAPACITY_MAX"] * 1e9) == (limits.MAX_BOUND, limits.MAX_BOUND)
    assert IN_C["SIZE_MAX"] == limits.MAX_BYTES
    assert (ses_client.limits.MAX_BOUND, ses_client.limits.MAX_WEIGHT) == (
        limits.MAX_BOUND,
        limits.MAX_WEIGHT,
    )
    assert _in_shapes(ODRL.rightOperand, SH.maxInclusive) == {limits.MAX_BOUND}
    assert _in_shapes(QSM.weight, SH.maxInclusive) == {limits.MAX_WEIGHT}
    assert _in_shapes(QSM.defaultWeight, SH.maxInclusive) == {limits.MAX_WEIGHT}
    assert _in_shapes(QSM.bytesWritten, SH.maxInclusive) == {limits.MAX_BYTES}
    assert _in_shapes(QSM.requires, SH.maxCount) == {limits.MAX_REQUIREMENTS}
    assert _in_shapes(QSM.subject, SH.maxLength) == {limits.MAX_NAME}
