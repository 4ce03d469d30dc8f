# Give all that is stored under the former names of the vocabulary its present names.
# Inputs: $former, $present (literals: what names began with, and begin with). Called by
# ses_service.knowledge.knowledge_base. Texts of the history name subjects, too.
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
DELETE { GRAPH ?oldGraph { ?oldSubject ?oldProperty ?oldValue } }
INSERT { GRAPH ?graph { ?subject ?property ?value } }
WHERE {
  GRAPH ?oldGraph { ?oldSubject ?oldProperty ?oldValue }
  FILTER (STRSTARTS(STR(?oldGraph), $former))
  BIND (IRI(CONCAT($present, STRAFTER(STR(?oldGraph), $former))) AS ?graph)
  BIND (IF(isIRI(?oldSubject) && STRSTARTS(STR(?oldSubject), $former),
           IRI(CONCAT($present, STRAFTER(STR(?oldSubject), $former))), ?oldSubject) AS ?subject)
  BIND (IF(STRSTARTS(STR(?oldProperty), $former),
           IRI(CONCAT($present, STRAFTER(STR(?oldProperty), $former))), ?oldProperty) AS ?property)
  BIND (IF(isIRI(?oldValue) && STRSTARTS(STR(?oldValue), $former),
           IRI(CONCAT($present, STRAFTER(STR(?oldValue), $former))),
        IF(isLiteral(?oldValue) && DATATYPE(?oldValue) = xsd:string && CONTAINS(?oldValue, $former),
           REPLACE(?oldValue, $former, $present), ?oldValue)) AS ?value)
}
