"""The knowledge base: the site and what people require, kept in an RDF store.

One HTTP client speaks to Apache Jena Fuseki and to the SPARQL server that the ``oxigraph`` wheel
brings. Live rates never go in here, and no decision waits for it: the service reads everything into
memory and asks only whether it changed.
"""

from ses_service.knowledge.errors import (
    AnswerLostError,
    InvalidDescriptionError,
    KnowledgeBaseError,
    RevisionConflictError,
    StoreRefusedError,
    StoreUnavailableError,
)
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.last_known import LastKnown, Recalled
from ses_service.knowledge.store.embedded import EmbeddedStore
from ses_service.knowledge.store.store import HttpStore, SparqlStore
from ses_service.knowledge.terms import ontology_directory

__all__ = [
    "AnswerLostError",
    "EmbeddedStore",
    "HttpStore",
    "InvalidDescriptionError",
    "KnowledgeBase",
    "KnowledgeBaseError",
    "LastKnown",
    "Recalled",
    "RevisionConflictError",
    "SparqlStore",
    "StoreRefusedError",
    "StoreUnavailableError",
    "ontology_directory",
]
