# Remove what is said about some subjects, with their blank nodes, if the change was begun.
# Inputs: $graph, $subjects (a list of IRIs), $history (graph), $change. Follows begin-change.ru in one request.
# Each way is written out: as nested OPTIONALs, Fuseki took 10 s for 450 subjects.
PREFIX prov: <http://www.w3.org/ns/prov#>
DELETE { GRAPH $graph { ?s ?p ?o } }
WHERE {
  GRAPH $history { $change a prov:Activity }
  {
    { VALUES ?s { $subjects } GRAPH $graph { ?s ?p ?o } }
    UNION
    { VALUES ?subject { $subjects } GRAPH $graph { ?subject ?first ?s . ?s ?p ?o } FILTER (isBlank(?s)) }
    UNION
    { VALUES ?subject { $subjects } GRAPH $graph { ?subject ?first ?one . ?one ?second ?s . ?s ?p ?o }
      FILTER (isBlank(?one) && isBlank(?s)) }
    UNION
    { VALUES ?subject { $subjects } GRAPH $graph { ?subject ?first ?one . ?one ?second ?two . ?two ?third ?s . ?s ?p ?o }
      FILTER (isBlank(?one) && isBlank(?two) && isBlank(?s)) }
  }
}
