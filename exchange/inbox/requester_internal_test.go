package inbox

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// FuzzRequester checks that a parsed document of any content is the same after a write and a read.
func FuzzRequester(f *testing.F) {
	at := time.Date(2026, 2, 1, 17, 0, 0, 0, time.UTC)
	f.Add([]byte(`"2026-02-01T17:00:00Z"`))
	f.Add((&requester{at: at, sent: []sent{{"2026-02-01-001", 7, true}}, low: "7"}).document())
	f.Add([]byte(`{"at":7}`))
	f.Add([]byte(`{"pos":"x"}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		a, err := parse(doc)
		if err != nil {
			if a != nil {
				t.Error("a requester and an error")
			}
			return
		}
		b, err := parse(a.document())
		if err != nil && a.at.Year() >= 0 && a.at.Year() < 10_000 || err == nil && (!b.at.Equal(a.at) || !slices.Equal(a.sent, b.sent) || a.low != b.low) {
			t.Errorf("%v, then %v, %v", a, b, err)
		}
	})
}

func TestRequesterKeepsOpenThreads(t *testing.T) {
	r := &requester{}
	for i := range maxSent {
		r.remember(sent{fmt.Sprint(i), 1, i%2 == 1})
	}
	if r.lastSerial("0") == 0 || r.lastSerial("1") != 0 || r.lastSerial(fmt.Sprint(maxSent-1)) == 0 {
		t.Error("an open thread is removed, or an ended one is not")
	}
	for i := range 2 * maxSent {
		r.remember(sent{"open " + fmt.Sprint(i), 1, false})
	}
	if len(r.sent) > maxSent {
		t.Errorf("%d threads", len(r.sent))
	}
	r.remember(sent{"open " + fmt.Sprint(maxSent+7), 2, false})
	if r.sent[len(r.sent)-1].Serial != 2 {
		t.Error("the newest is not the last")
	}
}
