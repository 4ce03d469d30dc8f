# State one more property of a requirement set, or of one of its requirements, if the set's last change is the caller's.
# Inputs: $graph (requirements graph), $set, $change, $node (the set or the requirement), $property, $value.
# Follows replace-requirements.ru in one request, which stores apply as a whole.
PREFIX qsm: <https://example.org/qstorman/ontology#>
INSERT { GRAPH $graph { $node $property $value } }
WHERE { GRAPH $graph { $set qsm:change $change } }
