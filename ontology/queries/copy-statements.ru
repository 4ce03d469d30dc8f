# Add what another graph states to a graph, if the change was begun.
# Inputs: $graph, $from (graph), $history (graph), $change. Follows begin-change.ru in one request; for many statements,
# which a store takes in faster as a graph than as part of a request.
PREFIX prov: <http://www.w3.org/ns/prov#>
INSERT { GRAPH $graph { ?s ?p ?o } }
WHERE {
  GRAPH $history { $change a prov:Activity }
  GRAPH $from { ?s ?p ?o }
}
