# Remove all that a graph states but what is said of the graph itself, if the change was begun.
# Inputs: $graph, $history (graph), $change. Follows begin-change.ru in one request.
PREFIX prov: <http://www.w3.org/ns/prov#>
DELETE { GRAPH $graph { ?s ?p ?o } }
WHERE {
  GRAPH $history { $change a prov:Activity }
  GRAPH $graph { ?s ?p ?o FILTER (?s != $graph) }
}
