# Add statements to a graph, if the change was begun.
# Inputs: $graph, $statements (a block of triples), $history (graph), $change. Follows begin-change.ru or
# record-change.ru in one request.
PREFIX prov: <http://www.w3.org/ns/prov#>
INSERT { GRAPH $graph { $statements } }
WHERE { GRAPH $history { $change a prov:Activity } }
