# State what a requirement set says, if the set's last change is the caller's.
# Inputs: $graph (requirements graph), $set, $change, $statements (a block of triples).
# Follows replace-requirements.ru in one request, which stores apply as a whole.
PREFIX qsm: <https://w3id.org/qstorman/ontology#>
INSERT { GRAPH $graph { $statements } }
WHERE { GRAPH $graph { $set qsm:change $change } }
