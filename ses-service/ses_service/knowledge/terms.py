"""The names of the vocabulary this package reads and writes, and where its files lie."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path
from urllib.parse import quote

from rdflib import Namespace, URIRef
from rdflib.namespace import ODRL2

from ses_service.model import ElementState, Kind, Level, Strictness

QSM = Namespace("https://example.org/qstorman/ontology#")
UNIT = Namespace("http://qudt.org/vocab/unit/")
ODRL = ODRL2

ONTOLOGY_GRAPH = URIRef("https://example.org/qstorman/graph/ontology")
SITE_GRAPH = URIRef("https://example.org/qstorman/graph/site")
REQUIREMENTS_GRAPH = URIRef("https://example.org/qstorman/graph/requirements")
_REQUIREMENTS = "https://example.org/qstorman/requirements/"

BACKENDS = {
    str(QSM.MergerfsUnion): "mergerfs",
    str(QSM.LustreFileSystem): "lustre",
    str(QSM.CephFileSystem): "cephfs",
}
METRICS = {
    Kind.CURRENT_READ_RATE: QSM.CurrentReadRate,
    Kind.AVERAGE_READ_RATE: QSM.AverageReadRate,
    Kind.CURRENT_WRITE_RATE: QSM.CurrentWriteRate,
    Kind.AVERAGE_WRITE_RATE: QSM.AverageWriteRate,
    Kind.FREE_CAPACITY: QSM.FreeCapacity,
}
STATES = {
    str(QSM.Active): ElementState.ACTIVE,
    str(QSM.Degraded): ElementState.DEGRADED,
    str(QSM.Draining): ElementState.DRAINING,
    str(QSM.ReadOnly): ElementState.READ_ONLY,
    str(QSM.Inactive): ElementState.INACTIVE,
}
STRICTNESS = {Strictness.SOFT: QSM.Soft, Strictness.HARD: QSM.Hard}

_RATE = {"": 1.0, "Kilo": 1e3, "Mega": 1e6, "Giga": 1e9}  # QUDT has no unit:TeraBYTE-PER-SEC
_DECIMAL = {**_RATE, "Tera": 1e12, "Peta": 1e15}
_BINARY = {"Kibi": 2.0**10, "Mebi": 2.0**20, "Gibi": 2.0**30, "Tebi": 2.0**40, "Pebi": 2.0**50}

UNIT_SIZES = {str(UNIT[f"{prefix}BYTE"]): size for prefix, size in {**_DECIMAL, **_BINARY}.items()} | {
    str(UNIT[f"{prefix}BYTE-PER-SEC"]): size for prefix, size in _RATE.items()
}
"""QUDT units a site or a requirement may be written in, as bytes or bytes per second."""


def unit_of(kind: Kind) -> URIRef:
    """Return the unit requirements of this kind are written in: the base one, so that no digit is lost."""
    return UNIT.BYTE if kind is Kind.FREE_CAPACITY else UNIT["BYTE-PER-SEC"]


def requirement_set_iri(level: Level, name: str) -> URIRef:
    """Return the identity of a requirement set; any name becomes a harmless part of it."""
    return URIRef(f"{_REQUIREMENTS}{level.value}/{quote(name, safe='')}")


def ontology_directory() -> Path:
    """Return where the vocabulary, shapes and queries lie.

    ``SES_ONTOLOGY_DIR`` says so, or they lie beside the package (a checkout), or among the installed
    data. Raises ``FileNotFoundError`` when none of them holds ``qstorman.ttl``.
    """
    named = os.environ.get("SES_ONTOLOGY_DIR")
    places = (
        [Path(named)]
        if named
        else [
            Path(__file__).resolve().parents[3] / "ontology",
            Path(sysconfig.get_path("data")) / "share/qstorman/ontology",
        ]
    )
    for place in places:
        if (place / "qstorman.ttl").is_file():
            return place
    looked = ", ".join(str(place) for place in places)
    raise FileNotFoundError(f"no ontology (qstorman.ttl) in {looked}; set SES_ONTOLOGY_DIR")
