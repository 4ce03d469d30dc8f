# Forget the changes that are further back than the last $kept.
# Inputs: $history (graph), $kept (how many). Ends every request that records a change.
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX qsm: <https://w3id.org/qstorman/ontology#>
DELETE { GRAPH $history { ?node ?p ?o } }
WHERE {
  GRAPH $history {
    $history qsm:revision ?number .
    ?change a prov:Activity ; qsm:revision ?old .
    FILTER (?old <= ?number - $kept)
    { ?change ?p ?o . BIND (?change AS ?node) }
    UNION
    { ?node (prov:wasGeneratedBy|prov:wasInvalidatedBy) ?change . ?node ?p ?o }
  }
}
