package files_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// odd is a message with parts that an encoding might change: numbers, empty values, unknown
// fields, and characters with several spellings.
const odd = `
from: agent
unknown: {a: 1.0, b: 1e3, c: -0, d: 12345678901234567890, e: [], f: {}, g: null, h: "", i: "1.0", j: "<é\u2028>"}
MESS:
- request:
    id: a
    intent: "look \"there\"\nand there"
    context: [plain, {x: {y: [1, 2.50, true]}}]
    response_hints: [image]
    later: {z: 0.10}
- future: {k: [v, 1]}
`

// The cache returns the same thread as a read: after its creation, after each step, after an
// eviction, and after a restart.
func TestCacheMatchesStore(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	first, err := mess.Parse([]byte(odd))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 2, 1, 17, 0, 0, 5e6, time.UTC)
	th := thread.Thread{
		Envelope: thread.Envelope{Ref: "2026-02-01-001", Requester: "agent", Status: mess.Pending, Created: now, Updated: now, Ver: 1, Intent: "look"},
		Messages: []mess.Message{first},
	}
	if _, err := s.Append(t.Context(), thread.Step{Envelope: th.Envelope, Messages: th.Messages}); err != nil {
		t.Fatal(err)
	}
	other := fill(t, s, "other", 1, 10)
	larger := 0
	pushOut := func() {
		t.Helper()
		for range 20 { // each nearly as large as a cached thread may be
			larger++
			fill(t, s, fmt.Sprint("large-", larger), 1, 120<<10)
		}
	}
	read := func() thread.Thread {
		t.Helper()
		got, _, err := s.Read(t.Context(), th.Ref)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	step := func(text string) {
		t.Helper()
		m, err := mess.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		th.Ver++
		th.Updated = now.Add(time.Duration(th.Ver) * time.Second)
		th.History = append(th.History, thread.HistoryEntry{Action: "replied", At: th.Updated, By: m.From})
		if _, err := s.Append(t.Context(), thread.Step{After: revOf(th.Ver - 1), Envelope: th.Envelope, Messages: []mess.Message{m}}); err != nil {
			t.Fatal(err)
		}
	}
	same := func(messages int, pushed bool) {
		t.Helper()
		remembered := read()
		if len(remembered.Messages) != messages || remembered.Ver != th.Ver {
			t.Fatalf("%d messages, version %d; want %d, %d", len(remembered.Messages), remembered.Ver, messages, th.Ver)
		}
		if pushed {
			pushOut()
		}
		for _, what := range []string{"read", "read again"} {
			if diff := cmp.Diff(remembered, read(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-remembered +%s:\n%s", what, diff)
			}
		}
		all := list(t, s)
		if i := slices.IndexFunc(all, func(e thread.Envelope) bool { return e.Ref == th.Ref }); i < 0 || !cmp.Equal(all[i], remembered.Envelope, cmpopts.EquateEmpty()) {
			t.Errorf("the list differs from the thread: %+v", all)
		}
		for i, m := range read().Messages {
			was, _ := remembered.Messages[i].JSON()
			is, _ := m.JSON()
			if string(was) != string(is) {
				t.Errorf("message %d:\n%s\nis read as\n%s", i, was, is)
			}
		}
	}
	same(1, true)
	step("{from: pi, MESS: [{status: {code: claimed, odd: 1.50}}]}")
	same(2, false)
	before := read()
	step("{from: agent, MESS: [{answer: {value: 2.0}}]}")
	step("{from: pi, MESS: [{response: {content: [{text: ok}, {structured: {n: 1e3}}]}}]}")
	if len(before.Messages) != 2 {
		t.Errorf("the thread from the earlier read has %d messages, want 2", len(before.Messages))
	}
	same(4, true)
	if _, err := s.Append(t.Context(), thread.Step{Envelope: before.Envelope}); err != thread.ErrStale {
		t.Errorf("a step that is late: %v", err)
	}
	same(4, false)
	last := read()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if diff := cmp.Diff(last, read(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-before +after it was opened again:\n%s", diff)
	}
	if th, _, err := s.Read(t.Context(), other); err != nil || len(th.Messages) != 2 || !strings.HasSuffix(th.Ref, "other") {
		t.Errorf("%+v, %v", th, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
