"""The knowledge base: the site and what people require, kept in an RDF store.

One HTTP client speaks to Apache Jena Fuseki and to the SPARQL server that the ``oxigraph`` wheel
brings. Live rates never go in here, and no decision waits for it: the service reads everything into
memory and asks only whether it changed.
"""
