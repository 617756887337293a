package logformat

import (
	"bytes"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// A decoded block encodes to the same bytes, for any input.
func FuzzBlock(f *testing.F) {
	f.Add(EncodeBlock([]Entry{{7, Summary{Ref: "2026-01-01-001", ClientID: "c", Requester: "r", Executor: "e", Held: []string{"h"}, Status: mess.Failed, Updated: time.Unix(1, 2), Ver: 3, Keys: []thread.Key{{Owner: "o", Name: "n"}}}}}))
	f.Add(EncodeBlock([]Entry{{1, Summary{Ref: "x", Status: mess.Failed, Requires: []string{"a", "b"}}}, {2, Summary{Ref: "y", Status: mess.Failed, Requires: []string{}}}}))
	f.Add(EncodeBlock([]Entry{{Summary: Summary{Ref: "x"}}, {Summary: Summary{Ref: "y"}}}))
	f.Add([]byte{blockForm})
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := DecodeBlock(data, UnchangedName)
		if err != nil {
			if all != nil {
				t.Errorf("an error, and %d entries", len(all))
			}
			return
		}
		for n, e := range all {
			if one, err := DecodeEntry(data, n); err != nil || !bytes.Equal(one.append(nil), e.append(nil)) {
				t.Errorf("entry %d alone: %+v, %v, want %+v", n, one, err, e)
			}
		}
		again, err := DecodeBlock(EncodeBlock(all), UnchangedName)
		if err != nil || len(again) != len(all) {
			t.Fatalf("%d entries, then %d, %v", len(all), len(again), err)
		}
		if !bytes.Equal(EncodeBlock(again), EncodeBlock(all)) {
			t.Error("a repeated encoding differs")
		}
	})
}
