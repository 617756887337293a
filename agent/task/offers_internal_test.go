package task

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/messkit/messkit/agent/session"
	"github.com/messkit/messkit/mess"
)

// The queue returns the same offers as a linear search of a list.
func TestOffersMatchModel(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		var w offers
		var list []*offer
		for n := range 400 {
			switch r.IntN(4) {
			case 0, 1:
				ref := fmt.Sprint("t", r.IntN(60))
				o := newOffer(ref, fmt.Sprint("by", r.IntN(4)), "", mess.Request{ID: fmt.Sprint(n), Priority: []mess.Priority{"", mess.Urgent, mess.Background}[r.IntN(3)]})
				w.add(o)
				if !slices.ContainsFunc(list, func(other *offer) bool { return other.ref == ref }) {
					list = append(list, o)
				}
			case 2:
				ref := fmt.Sprint("t", r.IntN(60))
				w.drop(ref)
				list = slices.DeleteFunc(list, func(o *offer) bool { return o.ref == ref })
			case 3:
				full := fmt.Sprint("by", r.IntN(5))
				var want *offer
				for _, o := range list {
					if o.by != full && (want == nil || o.rank > want.rank) {
						want = o
					}
				}
				list = slices.DeleteFunc(list, func(o *offer) bool { return o == want })
				if got := w.next(func(by string) bool { return by != full }); got != want {
					t.Fatalf("seed %d, step %d: next is %+v, want %+v", seed, n, got, want)
				}
			}
			if len(w.refs) != len(list) {
				t.Fatalf("seed %d, step %d: %d wait, want %d", seed, n, len(w.refs), len(list))
			}
		}
		for range list {
			w.next(func(string) bool { return true })
		}
		if len(w.refs)+len(w.queues) > 0 {
			t.Fatalf("seed %d: %d offers and %d requesters are left", seed, len(w.refs), len(w.queues))
		}
	}
}

// The queue preserves the whole request of a waiting offer.
func TestOfferKeepsRequest(t *testing.T) {
	for _, text := range []string{
		"request: {intent: turn on the porch light}",
		"request: {id: a, intent: «vacuum» the kitchen, precision: exact, needed_by: 2030-01-02T03:04:05Z, confirm_before: true, priority: urgent, requires: [vacuum-floor, {camera: {fps: 3}}]}",
		"request: {intent: look, context: [a text, {image: photo.jpg, note: [1, 2.50]}], response_hint: [image], constraints: {timing: {urgency: soon}, other: 1e3}, x-own: {deep: [null, true]}}",
	} {
		m, err := mess.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		req := *m.Items[0].(*mess.Request)
		task, err := newOffer("ref", "by", "", req).task(New(&Deps{Session: &session.Session{}}))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		before, _ := req.MarshalJSON()
		after, _ := task.req.MarshalJSON()
		if string(before) != string(after) {
			t.Errorf("%s became %s", before, after)
		}
	}
}
