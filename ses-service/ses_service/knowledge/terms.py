"""The names of the vocabulary this package reads and writes, and where its files lie."""

import os
import sysconfig
from pathlib import Path
from urllib.parse import quote, unquote

from rdflib import Namespace, URIRef
from rdflib.namespace import ODRL2

from ses_service.model.entities import ElementState, Level, Strictness

QSM = Namespace("https://w3id.org/qstorman/ontology#")
QUDT = Namespace("http://qudt.org/schema/qudt/")
ODRL = ODRL2

ONTOLOGY_GRAPH = URIRef("https://w3id.org/qstorman/graph/ontology")
SITE_GRAPH = URIRef("https://w3id.org/qstorman/graph/site")
REQUIREMENTS_GRAPH = URIRef("https://w3id.org/qstorman/graph/requirements")
HISTORY_GRAPH = URIRef("https://w3id.org/qstorman/graph/history")
_REQUIREMENTS = "https://w3id.org/qstorman/requirements/"

STATES = {
    str(QSM.Active): ElementState.ACTIVE,
    str(QSM.Degraded): ElementState.DEGRADED,
    str(QSM.Draining): ElementState.DRAINING,
    str(QSM.ReadOnly): ElementState.READ_ONLY,
    str(QSM.Inactive): ElementState.INACTIVE,
}
STRICTNESS = {Strictness.SOFT: QSM.Soft, Strictness.HARD: QSM.Hard}


def requirement_set_iri(level: Level, name: str) -> URIRef:
    """Return the identity of a requirement set; any name becomes a harmless part of it."""
    return URIRef(f"{_REQUIREMENTS}{level.value}/{quote(name, safe='')}")


def requirement_set_of(iri: URIRef) -> tuple[Level, str] | None:
    """Return level and name of the requirement set with this identity; ``None`` when it is of none."""
    level, slash, name = iri.removeprefix(_REQUIREMENTS).partition("/")
    if not iri.startswith(_REQUIREMENTS) or not slash or level not in tuple(Level):
        return None
    return Level(level), unquote(name)


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
