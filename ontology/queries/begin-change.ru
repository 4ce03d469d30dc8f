# Begin a change of the site, the requirements or both, if nothing changed since they were read: note who, when and
# why, and give each graph its next revision. The requests that follow do nothing unless this did.
# Inputs: $history, $site, $requirements (graphs), $digest, $siteRevision, $revision (as revisions.rq gave them, "" and
# 0 where it gave none), $nextDigest, $siteStep (1, or 0 for a change that leaves the site as it is), $change, $at
# (xsd:dateTime), $agent, $author (its name), $reason.
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX qsm: <https://w3id.org/qstorman/ontology#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
DELETE {
  GRAPH $history { $history qsm:revision ?number }
  GRAPH $site { $site qsm:revision ?siteNow ; qsm:digest ?digest }
  GRAPH $requirements { $requirements qsm:revision ?now }
}
INSERT {
  GRAPH $history {
    $history qsm:revision ?next .
    $change a prov:Activity ; qsm:revision ?next ; prov:endedAtTime $at ; prov:wasAssociatedWith $agent ;
      rdfs:comment $reason .
    $agent a prov:Agent ; qsm:name $author .
  }
  GRAPH $site { $site qsm:revision ?siteNext ; qsm:digest $nextDigest }
  GRAPH $requirements { $requirements qsm:revision ?following }
}
WHERE {
  OPTIONAL { GRAPH $history { $history qsm:revision ?number } }
  OPTIONAL { GRAPH $site { $site qsm:revision ?siteNow } }
  OPTIONAL { GRAPH $site { $site qsm:digest ?digest } }
  OPTIONAL { GRAPH $requirements { $requirements qsm:revision ?now } }
  FILTER (COALESCE(?digest, "") = $digest)
  FILTER (COALESCE(?siteNow, 0) = $siteRevision && COALESCE(?now, 0) = $revision)
  BIND (COALESCE(?number, 0) + 1 AS ?next)
  BIND (COALESCE(?siteNow, 0) + $siteStep AS ?siteNext)
  BIND (COALESCE(?now, 0) + 1 AS ?following)
}
