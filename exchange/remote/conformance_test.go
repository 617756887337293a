package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// executorsExchange has the methods of an exchange that an agent calls.
type executorsExchange interface {
	Send(ctx context.Context, m mess.Message) (mess.Message, error)
	Receive(ctx context.Context, handle func(mess.Message)) error
	Attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error)
}

// transport is a connection to an exchange.
type transport struct {
	x *exchange.Exchange
	// as returns the exchange for the executor id.
	as func(t *testing.T, id string) executorsExchange
}

// An agent gets the same behavior from an exchange in this process, over HTTP, over MQTT with either
// broker, and over NATS.
func TestTransportsBehaveAlike(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) transport{
		"in process": inProcess, "http": overHTTP, "mqtt embedded": overEmbedded, "mqtt mosquitto": overMosquitto, "nats": overNATS,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := open(t)
			for name, test := range map[string]func(t *testing.T, tr transport){
				"a whole task": conformTask, "refusals": conformErrors, "the same again": conformDuplicates, "withdrawn": conformWithdrawn,
				"messages": conformMessages, "stop": conformStop, "hold": conformDrain, "away": conformReconnect, "files": conformFiles, "heartbeat": conformHeartbeat,
				"queries": conformQueries, "a thousand": conformMany,
			} {
				t.Run(name, func(t *testing.T) { test(t, tr) })
			}
		})
	}
}

func conformTask(t *testing.T, tr transport) {
	id, can := unique(t, "pi")
	pi := newExecutorClient(t, tr, id, can)
	ref := request(t, tr, can, `, needed_by: 2999-01-01T00:00:00Z, context: [be quick]`)
	offer := pi.waitForOffer(ref)
	r := offer.Items[0].(*mess.Request)
	if r.Intent != "look into the fridge" || offer.From != asker.ID || offer.ExpiresIn == "" {
		t.Fatalf("offer: %+v", offer)
	}
	epoch := pi.claim(ref)
	pi.mustSend(`{re: ` + ref + `, epoch: ` + epoch + `, MESS: [{status: {code: in_progress}}]}`)
	media, err := pi.Attach(t.Context(), ref, "fridge.jpg", "image/jpeg", strings.NewReader("not a real picture"))
	if err != nil || media.MIME != "image/jpeg" || *media.Size != 18 || len(media.SHA256) != 64 {
		t.Fatalf("%+v, %v", media, err)
	}
	done := mess.Message{Re: mess.Refs{ref}, Items: []mess.Item{
		&mess.Status{Code: mess.Completed, Evidence: mess.Photographed},
		&mess.Response{Content: []mess.Entry{mess.TextEntry("milk"), mess.MediaEntry("image", media)}},
	}}
	if _, err := fmt.Sscan(epoch, &done.Epoch); err != nil {
		t.Fatal(err)
	}
	if _, err := pi.Send(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	got := threadOf(t, tr, ref)
	if got.Status != mess.Completed || got.Executor != id || len(got.Attachments()) != 1 {
		t.Fatalf("%+v", got.Envelope)
	}
	f, a, err := tr.x.Attachment(t.Context(), asker, ref, got.Attachments()[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if data, err := io.ReadAll(f); err != nil || string(data) != "not a real picture" || a.SHA256 != media.SHA256 {
		t.Errorf("%q, %v", data, err)
	}
}

func conformErrors(t *testing.T, tr transport) {
	id, can := unique(t, "pi")
	pi, other := newExecutorClient(t, tr, id, can), newExecutorClient(t, tr, "second-"+id, can)
	ref := request(t, tr, can, "")
	pi.waitForOffer(ref)
	pi.claim(ref)
	var r *mess.Error
	_, err := other.send(`{re: ` + ref + `, MESS: [{status: {code: claimed}}]}`)
	if !errors.As(err, &r) || r.Code != mess.AlreadyClaimed || r.Holder != id || r.Ref != ref || r.Status != mess.Claimed {
		t.Errorf("a second claim: %+v, %v", r, err)
	}
	_, err = pi.send(`{re: ` + ref + `, epoch: 7, MESS: [{status: {code: in_progress}}]}`)
	if !errors.As(err, &r) || r.Code != mess.StaleToken {
		t.Errorf("an old claim: %v", err)
	}
	_, err = pi.send(`{re: ` + ref + `, MESS: [{reply: {confirm: true}}]}`)
	if !errors.As(err, &r) || r.Code != mess.Forbidden {
		t.Errorf("a reply of the executor: %v", err)
	}
	_, err = pi.send(`{re: nothing, MESS: [{status: {code: claimed}}]}`)
	if !errors.As(err, &r) || r.Code != mess.NotFound {
		t.Errorf("an unknown thread: %v", err)
	}
	_, err = pi.send(`{re: ` + ref + `, epoch: 1, MESS: [{status: {code: pending}}]}`)
	if !errors.As(err, &r) || r.Code != mess.IllegalTransition && r.Code != mess.Invalid || r.Text == "" {
		t.Errorf("an illegal step: %v", err)
	}
	if _, err := pi.send(`config: {executor: {id: somebody-else}}`); !errors.Is(err, mess.Forbidden) {
		t.Errorf("registration of another executor: %v, want Forbidden", err)
	}
}

func conformDuplicates(t *testing.T, tr transport) {
	id, can := unique(t, "pi")
	pi := newExecutorClient(t, tr, id, can)
	ref := request(t, tr, can, "")
	pi.waitForOffer(ref)
	first := pi.mustSend(`{id: one, re: ` + ref + `, MESS: [{status: {code: claimed}}]}`)
	before := len(threadOf(t, tr, ref).Messages)
	again := pi.mustSend(`{id: one, re: ` + ref + `, MESS: [{status: {code: claimed}}]}`)
	if first.Epoch != again.Epoch || first.Ref != again.Ref || len(threadOf(t, tr, ref).Messages) != before {
		t.Errorf("first %+v, again %+v, %d messages", first, again, len(threadOf(t, tr, ref).Messages))
	}
}

func conformWithdrawn(t *testing.T, tr transport) {
	id, can := unique(t, "pi")
	pi, other := newExecutorClient(t, tr, id, can), newExecutorClient(t, tr, "second-"+id, can)
	ref := request(t, tr, can, "")
	other.waitForOffer(ref)
	pi.waitForOffer(ref)
	pi.claim(ref)
	gone := other.waitForMessage("that it is taken", func(m mess.Message) bool {
		return len(m.Re) == 1 && m.Re[0] == ref && m.Items[0].Kind() == mess.KindStatus
	})
	if s := gone.Items[0].(*mess.Status); s.Executor != id {
		t.Errorf("withdrawn: %+v", s)
	}
}

func conformMessages(t *testing.T, tr transport) {
	id, can := unique(t, "pi")
	pi := newExecutorClient(t, tr, id, can)
	ref := request(t, tr, can, "")
	pi.waitForOffer(ref)
	epoch := pi.claim(ref)
	pi.mustSend(`{re: ` + ref + `, epoch: ` + epoch + `, MESS: [{status: {code: needs_input, questions: [{field: shelf, question: which one}]}}]}`)
	postText(t, tr, `{re: `+ref+`, MESS: [{reply: {answers: {shelf: upper}}}]}`)
	m := pi.waitForMessage("the answer", func(m mess.Message) bool { return m.Items[0].Kind() == mess.KindReply })
	if v, _ := m.Items[0].(*mess.Reply).Answers.Get("shelf"); v != "upper" || m.Re[0] != ref || fmt.Sprint(m.Epoch) != epoch || m.Ref == "" {
		t.Errorf("%+v", m)
	}
	postText(t, tr, `{re: `+ref+`, MESS: [{cancel: {}}]}`)
	pi.waitForMessage("the cancel", func(m mess.Message) bool { return m.Items[0].Kind() == mess.KindCancel && m.Re[0] == ref })
}

func conformStop(t *testing.T, tr transport) {
	id, can := unique(t, "pi")
	pi := newExecutorClient(t, tr, id, can)
	boss := exchange.Actor{ID: "boss", Roles: exchange.Operator}
	s, err := tr.x.Stop(t.Context(), boss, mess.Stop{Reason: "smoke", Executors: mess.Refs{id}})
	if err != nil {
		t.Fatal(err)
	}
	m := pi.waitForMessage("the stop", func(m mess.Message) bool { return m.Items[0].Kind() == mess.KindConfig })
	got := m.Items[0].(*mess.Config).Stop
	if got == nil || got.ID != s.ID || got.Reason != "smoke" || got.By != "boss" {
		t.Fatalf("%+v", got)
	}
	ack := pi.mustSend(`config: {executor: {id: ` + id + `, holding: [], stopped: {why: smoke}}}`)
	if len(ack.Stops) != 1 || ack.Stops[0].ID != s.ID {
		t.Errorf("an unconfirmed stop is missing in %+v", ack)
	}
	if ack = pi.mustSend(`config: {executor: {id: ` + id + `, holding: [], stopped: {orders: [` + s.ID + `], why: smoke}}}`); len(ack.Stops) != 0 {
		t.Errorf("the confirmed order is in %+v again", ack)
	}
}

func conformDrain(t *testing.T, tr transport) {
	id, can := unique(t, "pi")
	pi := newExecutorClient(t, tr, id, can)
	boss := exchange.Actor{ID: "boss", Roles: exchange.Operator}
	h, err := tr.x.Drain(t.Context(), boss, mess.DrainOrder{Reason: "wet", Executors: mess.Refs{id}})
	if err != nil {
		t.Fatal(err)
	}
	config := func(m mess.Message) bool { return m.Items[0].Kind() == mess.KindConfig }
	if got := pi.waitForMessage("the hold", config).Items[0].(*mess.Config); got.Drain == nil || got.Drain.ID != h.ID || got.Drain.Reason != "wet" || got.Drain.By != "boss" || got.Resume != nil {
		t.Fatalf("%+v", got)
	}
	ack := pi.mustSend(`config: {executor: {id: ` + id + `, holding: [], held: {}}}`)
	if ack.Drain == nil || ack.Drain.ID != h.ID {
		t.Errorf("an unconfirmed drain is missing in %+v", ack)
	}
	if ack = pi.mustSend(`config: {executor: {id: ` + id + `, holding: [], held: {orders: [` + h.ID + `], why: wet}}}`); ack.Drain != nil {
		t.Errorf("the confirmed order is in %+v again", ack)
	}
	ref := request(t, tr, can, "")
	if _, err := pi.send(`{re: ` + ref + `, MESS: [{status: {code: claimed}}]}`); !errors.Is(err, mess.NotYet) {
		t.Errorf("a claim of a drained executor: %v", err)
	}
	end, err := tr.x.Resume(t.Context(), boss, mess.DrainOrder{Executors: mess.Refs{id}})
	if err != nil {
		t.Fatal(err)
	}
	pi.waitForMessage("its end", func(m mess.Message) bool { // until the executor reads it, the exchange may repeat the drain order
		c, is := m.Items[0].(*mess.Config)
		return is && c.Resume != nil && c.Resume.ID == end.ID && c.Drain == nil
	})
	pi.waitForOffer(ref)
	pi.claim(ref)
}

// An executor that reconnects gets the messages that it has missed.
func conformReconnect(t *testing.T, tr transport) {
	id, can := unique(t, "pi")
	pi := newExecutorClient(t, tr, id, can)
	ref := request(t, tr, can, "")
	pi.waitForOffer(ref)
	epoch := pi.claim(ref)
	pi.mustSend(`{re: ` + ref + `, epoch: ` + epoch + `, MESS: [{status: {code: needs_input, questions: [{field: shelf, question: which one}]}}]}`)
	pi.off()
	postText(t, tr, `{re: `+ref+`, MESS: [{reply: {answers: {shelf: upper}}}]}`)
	later := request(t, tr, can, "")
	pi.listen()
	seen := map[string]bool{}
	pi.waitForMessage("the answer and the offer", func(m mess.Message) bool {
		seen[m.Re[0]+" "+string(m.Items[0].Kind())] = true
		return seen[ref+" reply"] && seen[later+" request"]
	})
}

func conformFiles(t *testing.T, tr transport) {
	id, can := unique(t, "pi")
	pi, other := newExecutorClient(t, tr, id, can), newExecutorClient(t, tr, "second-"+id, can)
	ref := request(t, tr, can, "")
	pi.waitForOffer(ref)
	pi.claim(ref)
	var r *mess.Error
	if _, err := pi.Attach(t.Context(), ref, "big.bin", "", bytes.NewReader(make([]byte, 11<<20))); !errors.As(err, &r) || r.Code != mess.TooLarge {
		t.Errorf("11 MB: %v", err)
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Second) // a remote broker does not report the error
	defer cancel()
	if _, err := pi.Attach(soon, "2000-01-01-001", "x.bin", "", strings.NewReader("x")); err == nil {
		t.Error("a file for a thread that is not there is taken")
	}
	media, err := pi.Attach(t.Context(), ref, "../my door (1).png", "image/png", bytes.NewReader(bytes.Repeat([]byte{0, 1, 2, 255}, 1<<18)))
	if err != nil || *media.Size != 1<<20 || media.MIME != "image/png" || strings.ContainsAny(media.File, "/ ") {
		t.Errorf("a megabyte: %+v, %v", media, err)
	}
	_, err = other.Send(t.Context(), mess.Message{Re: mess.Refs{ref}, Items: []mess.Item{
		&mess.Response{Content: []mess.Entry{mess.MediaEntry("image", media)}},
	}})
	if err == nil {
		t.Error("another executor's answer is taken")
	}
}

func conformHeartbeat(t *testing.T, tr transport) {
	id, can := unique(t, "pi")
	pi := newExecutorClient(t, tr, id, can)
	ref := request(t, tr, can, "")
	pi.waitForOffer(ref)
	epoch := pi.claim(ref)
	ack := pi.mustSend(`config: {executor: {id: ` + id + `, holding: [{ref: ` + ref + `, epoch: ` + epoch + `}, {ref: 2000-01-01-001, epoch: 3}]}}`)
	if len(ack.Threads) != 2 || !*ack.Threads[0].Yours || ack.Threads[0].Lease == "" || *ack.Threads[1].Yours {
		t.Errorf("%+v", ack.Threads)
	}
}

func conformQueries(t *testing.T, tr transport) {
	id, can := unique(t, "pi")
	pi := newExecutorClient(t, tr, id, can)
	answer, err := pi.send(`query: {id: q, type: executors, filter: {executor: ` + id + `}}`)
	if err != nil {
		t.Fatal(err)
	}
	r, ok := answer.Items[0].(*mess.Response)
	if !ok || len(r.Content) != 1 || r.Re[0] != "q" {
		t.Fatalf("%+v", answer)
	}
	if text := fmt.Sprint(r.Content[0].Value); !strings.Contains(text, can) {
		t.Errorf("%s", text)
	}
}

// A thousand concurrent requests lead to a thousand offers.
func conformMany(t *testing.T, tr transport) {
	id, can := unique(t, "pi")
	pi := newExecutorClient(t, tr, id, can)
	const n = 1000
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := i; j < n; j += 8 {
				request(t, tr, can, fmt.Sprintf(", id: many-%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), j))
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	pi.waitForMessage("a thousand offers", func(m mess.Message) bool {
		if len(m.Items) > 0 && m.Items[0].Kind() == mess.KindRequest {
			seen[m.Re[0]] = true
		}
		return len(seen) == n
	})
}
