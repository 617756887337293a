package mqtt

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// An asker is read as it was kept; an earlier version kept a time alone. Of what anybody may
// have written nothing is taken that cannot be kept again.
func FuzzAsker(f *testing.F) {
	at := time.Date(2026, 2, 1, 17, 0, 0, 0, time.UTC)
	f.Add([]byte(`"2026-02-01T17:00:00Z"`))
	f.Add((&asker{at: at, told: []told{{"2026-02-01-001", 7}}}).document())
	f.Add([]byte(`{"at":7}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		a, err := parseAsker(doc)
		if err != nil {
			if a != nil {
				t.Error("an asker and an error")
			}
			return
		}
		b, err := parseAsker(a.document())
		if err != nil && a.at.Year() >= 0 && a.at.Year() < 10_000 || err == nil && (!b.at.Equal(a.at) || !slices.Equal(a.told, b.told)) {
			t.Errorf("%v, then %v, %v", a, b, err)
		}
	})
}

func TestAnAskerRemembersTheLast(t *testing.T) {
	a := &asker{}
	for i := range 2 * maxTold {
		a.remember(fmt.Sprint(i), 1)
	}
	a.remember(fmt.Sprint(maxTold), 2) // again
	if len(a.told) != maxTold || a.toldOf(fmt.Sprint(maxTold)) != 2 || a.toldOf("0") != 0 || a.told[maxTold-1].Serial != 2 {
		t.Errorf("%d, %v", len(a.told), a.told[maxTold-1])
	}
}
