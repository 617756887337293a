package exchange_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// query posts a query and returns the one list of its answer.
func (h *harness) query(actor exchange.Actor, query string) []any {
	h.t.Helper()
	m, err := h.post(actor, query)
	if err != nil {
		h.t.Fatalf("%s: %v", query, err)
	}
	r := m.Items[0].(*mess.Response)
	o := r.Content[0].Value.(mess.Object)
	list, _ := o[0].Value.([]any)
	return list
}

func values(list []any, key string) []any {
	var got []any
	for _, o := range list {
		v, _ := o.(mess.Object).Get(key)
		got = append(got, v)
	}
	return got
}

func TestQueries(t *testing.T) {
	cfg := exchange.DefaultConfig()
	cfg.Catalog = []exchange.Definition{
		{ID: "take-photo", Description: "Capture and attach photos", Tags: []string{"visual", "attachments"}},
		{ID: "check-visual", Description: "Look at something", Tags: []string{"visual"}},
		{ID: "vacuum-floor", Description: "Vacuum floors", Tags: []string{"cleaning"}},
	}
	withHarnessOver(t, memory.New(), cfg, func(h *harness) {
		h.register(kitchen, "take-photo, juggle")
		a := h.send(agent, "request: {id: a, intent: look}").Ref
		b := h.send(agent, "request: {id: b, intent: look again}").Ref
		h.send(other, "request: {id: c, intent: look away}")
		h.send(kitchen, "status: {re: "+a+", code: claimed}")
		h.send(kitchen, "response: {re: "+a+", content: [ok]}")
		for _, c := range []struct {
			query, key string
			want       []any
		}{
			{"query: {type: status}", "ref", []any{b}},
			{"query: {type: status, filter: {re: a}}", "status", []any{"completed"}},
			{"query: {type: status, filter: {re: [" + b + ", a]}}", "id", []any{"b", "a"}},
			{"query: {type: status, filter: {status: [completed, pending]}}", "ref", []any{a, b}},
			{"query: {type: status, filter: {executor: kitchen-pi}}", "ref", []any{a}},
			{"query: {type: capabilities}", "id", []any{"check-visual", "juggle", "take-photo", "vacuum-floor"}},
			{"query: {type: capabilities, filter: {tags: [visual]}}", "id", []any{"check-visual", "take-photo"}},
			{"query: {type: executors}", "id", []any{"kitchen-pi"}},
			{"query: {type: executors, filter: {executor: nobody}}", "id", nil},
		} {
			if diff := cmp.Diff(c.want, values(h.query(agent, c.query), c.key)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.query, diff)
			}
		}
		h.wantError(agent, "query: {type: status, filter: {re: nothing}}", mess.NotFound)
	})
}

func TestAttachments(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "take-photo")
		ref := h.send(agent, "request: {intent: look}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		picture := bytes.Repeat([]byte{0xff, 0xd8}, 1000)
		m, err := h.x.Attach(h.t.Context(), kitchen, ref, "../../My Fridge.jpg", "image/jpeg", bytes.NewReader(picture))
		if err != nil || m.File != "My_Fridge.jpg" || *m.Size != 2000 {
			t.Fatalf("Attach = %+v, %v", m, err)
		}
		if _, err := h.x.Attach(h.t.Context(), stranger, ref, "x", "", strings.NewReader("x")); err == nil {
			t.Error("a stranger attaches a file")
		}
		h.wantError(kitchen, "re: "+ref+"\nMESS: [{response: {content: [{image: {file: x.jpg, sha256: "+strings.Repeat("a", 64)+"}}]}}]", mess.MissingReference, "that this thread does not have")
		entry := "{image: {file: " + m.File + ", mime: image/jpeg, size: 2000, sha256: " + m.SHA256 + "}}"
		h.send(kitchen, "re: "+ref+"\nMESS: [{status: {code: completed}}, {response: {content: ["+entry+", "+entry+"]}}]")
		var names []string
		for _, a := range h.thread(ref).Attachments() {
			names = append(names, a.Name)
		}
		if diff := cmp.Diff([]string{"att-002-image-My_Fridge.jpg", "att-002-image-My_Fridge-2.jpg"}, names); diff != "" {
			t.Errorf("attachments (-want +got):\n%s", diff)
		}
		r, a, err := h.x.Attachment(h.t.Context(), agent, ref, names[0])
		if err != nil || a.MIME != "image/jpeg" || a.Size != 2000 {
			t.Fatalf("Attachment = %+v, %v", a, err)
		}
		defer r.Close()
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, picture) {
			t.Errorf("read %d bytes, %v; want the picture", len(got), err)
		}
		if _, _, err := h.x.Attachment(h.t.Context(), other, ref, names[0]); err == nil {
			t.Error("another requester reads the attachment")
		}
	})
}

func TestTooLargeAttachmentIsRejected(t *testing.T) {
	cfg := exchange.DefaultConfig()
	cfg.MaxAttachment = 10
	withHarnessOver(t, memory.New(), cfg, func(h *harness) {
		ref := h.send(agent, "request: {intent: look}").Ref
		_, err := h.x.Attach(h.t.Context(), agent, ref, "x.txt", "", strings.NewReader("12345678901"))
		if r, ok := err.(*mess.Error); !ok || r.Code != mess.TooLarge {
			t.Errorf("Attach: %v, want a refusal as too large", err)
		}
	})
}

// attach stages size bytes, all of them c.
func (h *harness) attach(actor exchange.Actor, ref, c string, size int) error {
	_, err := h.x.Attach(h.t.Context(), actor, ref, c+".txt", "", strings.NewReader(strings.Repeat(c, size)))
	return err
}

func TestAttachmentsOfThreadAreLimited(t *testing.T) {
	cfg := exchange.DefaultConfig()
	cfg.MaxAttachment, cfg.MaxThreadAttachments = 50_000, 100_000
	withHarnessOver(t, memory.New(), cfg, func(h *harness) {
		h.register(kitchen, "take-photo")
		ref := h.send(agent, "request: {intent: look}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		picture := strings.Repeat("a", 40_000)
		m, err := h.x.Attach(h.t.Context(), kitchen, ref, "a.txt", "", strings.NewReader(picture))
		if err != nil {
			t.Fatal(err)
		}
		for range 5 { // the exchange stores the same bytes once
			if err := h.attach(kitchen, ref, "a", 40_000); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.attach(agent, ref, "b", 40_000); err != nil {
			t.Fatal(err)
		}
		err = h.attach(kitchen, ref, "c", 40_000)
		if !errors.Is(err, mess.TooLarge) || !strings.Contains(err.Error(), "20000 remain") {
			t.Errorf("beyond the limit: %v, want an error with the remaining bytes", err)
		}
		if err := h.attach(kitchen, ref, "d", 20_000); err != nil {
			t.Errorf("attach within the remaining bytes: %v", err)
		}
		if err := h.attach(agent, ref, "e", 1); !errors.Is(err, mess.TooLarge) {
			t.Errorf("when nothing is left: %v", err)
		}
		// The files of the thread count after a restart too.
		h.send(kitchen, "re: "+ref+"\nMESS: [{status: {code: in_progress}}, {response: {content: [{file: {file: a.txt, size: 40000, sha256: "+m.SHA256+"}}]}}]")
		h.stop()
		h.open(cfg)
		if err := h.attach(kitchen, ref, "f", 40_000); err != nil {
			t.Error(err)
		}
		if err := h.attach(kitchen, ref, "g", 40_000); !errors.Is(err, mess.TooLarge) {
			t.Errorf("beyond the limit after a restart: %v", err)
		}
		other := h.send(agent, "request: {intent: look there}").Ref
		for i := range 30 { // many small ones take room as well
			err = h.attach(agent, other, string(rune('A'+i)), 1)
		}
		if !errors.Is(err, mess.TooLarge) {
			t.Errorf("thirty files: %v", err)
		}
	})
}

func TestAttachmentToEndedThreadIsRejected(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "take-photo")
		ref := h.send(agent, "request: {intent: look}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.send(kitchen, "status: {re: "+ref+", code: failed, reason: dark}")
		for _, actor := range []exchange.Actor{agent, person} {
			if err := h.attach(actor, ref, "x", 10); !errors.Is(err, mess.IllegalTransition) {
				t.Errorf("%s: %v, want it refused: the thread has ended", actor.ID, err)
			}
		}
		// Late evidence may come with pictures (T14).
		m, err := h.x.Attach(h.t.Context(), kitchen, ref, "x.txt", "", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		h.send(kitchen, "re: "+ref+"\nMESS: [{status: {code: completed}}, {response: {content: [{file: {file: x.txt, size: 1, sha256: "+m.SHA256+"}}]}}]")
		if got := h.thread(ref).Attachments(); len(got) != 1 {
			t.Errorf("attachments = %+v, want the late one", got)
		}
	})
}

func FuzzToken(f *testing.F) {
	for _, s := range []string{"Fridge check!", "../../etc/passwd", "", "ÄÖ", strings.Repeat("a-", 100)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		got := messeaf.Token(id)
		if len(got) > 41 || strings.Trim(got, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" ||
			strings.HasPrefix(got, "-") || strings.HasSuffix(got, "-") || strings.Contains(got, "--") {
			t.Errorf("messeaf.Token(%q) = %q", id, got)
		}
	})
}

// Executor returns the same value as the list of all executors.
func TestExecutorMatchesList(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "x")
		h.send(garage, "config: {executor: {id: "+garage.ID+", capabilities: [x], notifications: [{type: ntfy, topic: t}]}}")
		h.send(person, "config: {hold: {executors: ["+kitchen.ID+"], why: repair}}")
		for _, want := range h.x.Executors() {
			if got, ok := h.x.Executor(want.ID); !ok || !reflect.DeepEqual(got, want) {
				t.Errorf("%+v\nwant %+v", got, want)
			}
		}
		if _, ok := h.x.Executor("nobody"); ok {
			t.Error("Executor(nobody) exists, want none")
		}
		if list := h.x.NotifiableExecutors(); len(list) != 1 || list[0].ID != garage.ID {
			t.Errorf("notified: %v", list)
		}
	})
}
