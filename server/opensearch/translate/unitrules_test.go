package translate

import (
	"testing"

	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
)

// TestLongTerms checks that a query is split if it names more units than a terms query of OpenSearch may contain.
func TestLongTerms(t *testing.T) {
	words := make([]string, 2*termsAtOnce+1)
	clauses := owning(words)["bool"].(object)["should"].([]object)
	if len(clauses) != 3 || len(clauses[2]["terms"].(object)[schema.FieldUnits].([]string)) != 1 {
		t.Errorf("%d clauses", len(clauses))
	}
}
