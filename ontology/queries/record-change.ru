# Note who changed a requirement set, when and why, if the set's last change is the caller's.
# Inputs: $history, $requirements (graphs), $set, $identity (the set's qsm:change), $change, $at (xsd:dateTime), $agent,
# $author (its name), $reason. Follows replace-requirements.ru in one request, and does nothing the second time.
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX qsm: <https://w3id.org/qstorman/ontology#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
DELETE { GRAPH $history { $history qsm:revision ?number } }
INSERT {
  GRAPH $history {
    $history qsm:revision ?next .
    $change a prov:Activity ; qsm:revision ?next ; prov:endedAtTime $at ; prov:wasAssociatedWith $agent ;
      rdfs:comment $reason .
    $agent a prov:Agent ; qsm:name $author .
  }
}
WHERE {
  GRAPH $requirements { $set qsm:change $identity }
  FILTER NOT EXISTS { GRAPH $history { $change a prov:Activity } }
  OPTIONAL { GRAPH $history { $history qsm:revision ?number } }
  BIND (COALESCE(?number, 0) + 1 AS ?next)
}
