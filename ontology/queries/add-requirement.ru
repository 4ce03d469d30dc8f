# Add one requirement to a set, if the set's last change is the caller's.
# Inputs: $graph (requirements graph), $set, $change, $requirement, $metric, $operator, $bound,
# $unit, $weight, $strictness.
# Follows replace-requirements.ru in one request, which stores apply as a whole.
PREFIX odrl: <http://www.w3.org/ns/odrl/2/>
PREFIX qsm: <https://example.org/qstorman/ontology#>
INSERT {
  GRAPH $graph {
    $set qsm:requires $requirement .
    $requirement a qsm:Requirement ; odrl:leftOperand $metric ; odrl:operator $operator ;
      odrl:rightOperand $bound ; odrl:unit $unit ; qsm:weight $weight ; qsm:strictness $strictness .
  }
}
WHERE { GRAPH $graph { $set qsm:change $change } }
