# Empty one requirement set and give it its next revision, if it still has the expected one.
# Inputs: $graph (requirements graph), $set, $level, $subject, $expected and $next (revisions), $change, $modifiedAt,
# $modifiedBy. Does nothing when the revision is another: the caller finds somebody else's qsm:change then.
PREFIX qsm: <https://w3id.org/qstorman/ontology#>
DELETE {
  GRAPH $graph {
    $set ?property ?value .
    ?requirement ?detail ?object .
    $graph qsm:revision ?generation .
  }
}
INSERT {
  GRAPH $graph {
    $set a qsm:RequirementSet ; qsm:level $level ; qsm:subject $subject ; qsm:revision $next ;
      qsm:change $change ; qsm:modifiedAt $modifiedAt ; qsm:modifiedBy $modifiedBy .
    $graph qsm:revision ?following .
  }
}
WHERE {
  OPTIONAL { GRAPH $graph { $graph qsm:revision ?generation } }
  BIND (COALESCE(?generation, 0) + 1 AS ?following)
  OPTIONAL { GRAPH $graph { $set qsm:revision ?revision } }
  FILTER (COALESCE(?revision, 0) = $expected)
  OPTIONAL {
    GRAPH $graph {
      $set ?property ?value .
      OPTIONAL { $set qsm:requires ?requirement . ?requirement ?detail ?object }
    }
  }
}
