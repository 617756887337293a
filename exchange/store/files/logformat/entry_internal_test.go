package logformat

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// A decoded block encodes to the same bytes, for any input.
func FuzzBlock(f *testing.F) {
	f.Add(EncodeBlock([]Entry{{7, Summary{Ref: "2026-01-01-001", ClientID: "c", Requester: "r", Executor: "e", Held: []string{"h"}, Status: mess.Failed, Updated: time.Unix(1, 2), Ver: 3, Keys: []thread.Key{{Owner: "o", Name: "n"}}}}}))
	f.Add(EncodeBlock([]Entry{{1, Summary{Ref: "x", Status: mess.Failed, Requires: []string{"a", "b"}}}, {2, Summary{Ref: "y", Status: mess.Failed, Requires: []string{}, Devices: []string{}}}, {3, Summary{Ref: "z", Status: mess.Failed, Requires: []string{}, Devices: []string{"vm:lamp", ":gate"}}}}))
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

// A release that knows no devices reads the entries of this one, and can write them again. This
// release then has the right capabilities and devices, or reads them from the folder.
func TestEarlierReleaseKeepsOrDropsDevices(t *testing.T) {
	for _, of := range []thread.Subjects{
		{Capabilities: []string{"a", "b"}, Devices: []string{"vm:lamp", ":gate"}},
		{Capabilities: []string{}, Devices: []string{"vm:lamp"}},
		{Capabilities: []string{"a"}, Devices: []string{}},
		{Capabilities: []string{}, Devices: []string{}},
	} {
		own := thread.Key{Owner: "o", Name: "n"}
		e := Entry{1, Summary{Ref: "x", Status: mess.Failed, Requires: of.Capabilities, Devices: of.Devices, Keys: []thread.Key{own}}}
		earlier := Entry{1, Summary{Ref: "x", Status: mess.Failed}}
		for _, k := range append(e.Keys, e.subjectsAsKeys()...) { // as that release decodes them
			switch {
			case k.Owner != "":
				earlier.Keys = append(earlier.Keys, k)
			case k.Name == "":
				earlier.Requires = []string{}
			default:
				earlier.Requires = append(earlier.Requires, k.Name)
			}
		}
		all, err := DecodeBlock(EncodeBlock([]Entry{earlier}), UnchangedName)
		if err != nil || len(all) != 1 || !slices.Equal(all[0].Keys, e.Keys) {
			t.Fatalf("%v: %+v, %v", of, all, err)
		}
		if got := all[0]; !got.LacksSubjects() && (!slices.Equal(got.Requires, of.Capabilities) || !slices.Equal(got.Devices, of.Devices)) {
			t.Errorf("%v became %v %v", of, got.Requires, got.Devices)
		}
	}
}
