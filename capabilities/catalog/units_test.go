package catalog_test

import (
	"testing"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/internal/unit"
)

// The catalog writes conditions in the unit in which the agent compares readings.
func TestQuantitiesHaveUnitOfPlans(t *testing.T) {
	for name, q := range catalog.Default().Quantities {
		if want := unit.OfPlan(name); q.Unit != want && (q.Unit != "" || len(unit.Of(name)) > 1) {
			t.Errorf("%s is in %q; plans have it in %q", name, q.Unit, want)
		}
	}
}
