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

// way is a connection to an exchange.
type way struct {
	x *exchange.Exchange
	// as returns the exchange for the executor id.
	as func(t *testing.T, id string) executorsExchange
}

// An agent gets the same behavior from an exchange in this process, over HTTP, and over MQTT
// with either broker.
func TestTransportsBehaveAlike(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) way{
		"in process": inProcess, "http": overHTTP, "mqtt embedded": overEmbedded, "mqtt mosquitto": overMosquitto,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			for name, test := range map[string]func(t *testing.T, w way){
				"a whole task": conformTask, "refusals": conformRefusals, "the same again": conformAgain, "withdrawn": conformWithdrawn,
				"what is said": conformSaid, "stop": conformStop, "hold": conformHold, "away": conformAway, "files": conformFiles, "heartbeat": conformHeartbeat,
				"queries": conformQueries, "a thousand": conformMany,
			} {
				t.Run(name, func(t *testing.T) { test(t, w) })
			}
		})
	}
}

var asker = exchange.Actor{ID: "asker", Roles: exchange.Requester}

// unique separates the tests that share an exchange: each has its own executors and its own
// capability.
func unique(t *testing.T, id string) (executor, capability string) {
	name := strings.ToLower(strings.ReplaceAll(t.Name()[strings.LastIndex(t.Name(), "/")+1:], "_", "-"))
	return id + "-" + name, "do-" + name
}

// member is a registered executor.
type member struct {
	executorsExchange
	t    *testing.T
	id   string
	card string // its registration
	got  chan mess.Message
	off  func()
}

// join registers an executor and starts its Receive.
func join(t *testing.T, w way, id, capability string) *member {
	t.Helper()
	m := &member{executorsExchange: w.as(t, id), t: t, id: id}
	m.card = `config: {executor: {id: ` + id + `, capabilities: [` + capability + `], versions: [1.1.0], holding: []}}`
	m.say(m.card)
	m.listen()
	return m
}

func (m *member) listen() {
	m.got = make(chan mess.Message, 1<<16)
	ctx, cancel := context.WithCancel(m.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for { // as an agent does
			err := m.Receive(ctx, func(one mess.Message) { m.got <- one })
			if ctx.Err() != nil {
				if err != nil {
					m.t.Errorf("Receive of %s: %v", m.id, err)
				}
				return
			}
			if _, err := m.try(m.card); err != nil && ctx.Err() == nil {
				m.t.Errorf("%s registers anew: %v", m.id, err)
			}
		}
	})
	m.off = func() { cancel(); wg.Wait() }
	m.t.Cleanup(m.off)
}

func (m *member) try(text string) (mess.Message, error) {
	m.t.Helper()
	one, err := mess.Parse([]byte(text))
	if err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(m.t.Context()), patience)
	defer cancel()
	return m.Send(ctx, one)
}

func (m *member) say(text string) *mess.Ack {
	m.t.Helper()
	answer, err := m.try(text)
	if err != nil {
		m.t.Fatalf("%s says %s: %v", m.id, text, err)
	}
	ack, ok := answer.Items[0].(*mess.Ack)
	if !ok || answer.From != exchange.Self {
		m.t.Fatalf("%s says %s: %+v", m.id, text, answer)
	}
	return ack
}

// hears waits for a message that ok accepts, and discards others.
func (m *member) hears(what string, ok func(mess.Message) bool) mess.Message {
	m.t.Helper()
	limit := time.After(patience)
	for {
		select {
		case one := <-m.got:
			if ok(one) {
				return one
			}
		case <-limit:
			m.t.Fatalf("%s has not heard: %s", m.id, what)
		}
	}
}

func (m *member) offered(ref string) mess.Message {
	m.t.Helper()
	return m.hears("the offer of "+ref, func(one mess.Message) bool {
		return len(one.Re) == 1 && one.Re[0] == ref && one.Items[0].Kind() == mess.KindRequest
	})
}

// claim claims a thread and returns the epoch.
func (m *member) claim(ref string) string {
	m.t.Helper()
	return fmt.Sprint(m.say(`{re: ` + ref + `, MESS: [{status: {code: claimed}}]}`).Epoch)
}

// request creates a request of another actor.
func request(t *testing.T, w way, capability, more string) string {
	t.Helper()
	m, err := mess.Parse([]byte(`request: {intent: look into the fridge, requires: [` + capability + `]` + more + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return post(t, w, m).Ref
}

func post(t *testing.T, w way, m mess.Message) *mess.Ack {
	t.Helper()
	answer, err := w.x.Post(t.Context(), exchange.Inbound{Actor: asker, Channel: "test", Message: m})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Items[0].(*mess.Ack)
}

func says(t *testing.T, w way, text string) {
	t.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	post(t, w, m)
}

func threadOf(t *testing.T, w way, ref string) exchange.Thread {
	t.Helper()
	got, err := w.x.Thread(t.Context(), asker, ref)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func conformTask(t *testing.T, w way) {
	id, can := unique(t, "pi")
	pi := join(t, w, id, can)
	ref := request(t, w, can, `, needed_by: 2999-01-01T00:00:00Z, context: [be quick]`)
	offer := pi.offered(ref)
	r := offer.Items[0].(*mess.Request)
	if r.Intent != "look into the fridge" || offer.From != asker.ID || offer.ExpiresIn == "" {
		t.Fatalf("offer: %+v", offer)
	}
	epoch := pi.claim(ref)
	pi.say(`{re: ` + ref + `, epoch: ` + epoch + `, MESS: [{status: {code: in_progress}}]}`)
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
	got := threadOf(t, w, ref)
	if got.Status != mess.Completed || got.Executor != id || len(got.Attachments()) != 1 {
		t.Fatalf("%+v", got.Envelope)
	}
	f, a, err := w.x.Attachment(t.Context(), asker, ref, got.Attachments()[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if data, err := io.ReadAll(f); err != nil || string(data) != "not a real picture" || a.SHA256 != media.SHA256 {
		t.Errorf("%q, %v", data, err)
	}
}

func conformRefusals(t *testing.T, w way) {
	id, can := unique(t, "pi")
	pi, other := join(t, w, id, can), join(t, w, "second-"+id, can)
	ref := request(t, w, can, "")
	pi.offered(ref)
	pi.claim(ref)
	var r *mess.Error
	_, err := other.try(`{re: ` + ref + `, MESS: [{status: {code: claimed}}]}`)
	if !errors.As(err, &r) || r.Code != mess.AlreadyClaimed || r.Holder != id || r.Ref != ref || r.Status != mess.Claimed {
		t.Errorf("a second claim: %+v, %v", r, err)
	}
	_, err = pi.try(`{re: ` + ref + `, epoch: 7, MESS: [{status: {code: in_progress}}]}`)
	if !errors.As(err, &r) || r.Code != mess.StaleToken {
		t.Errorf("an old claim: %v", err)
	}
	_, err = pi.try(`{re: ` + ref + `, MESS: [{reply: {confirm: true}}]}`)
	if !errors.As(err, &r) || r.Code != mess.Forbidden {
		t.Errorf("a reply of the executor: %v", err)
	}
	_, err = pi.try(`{re: nothing, MESS: [{status: {code: claimed}}]}`)
	if !errors.As(err, &r) || r.Code != mess.NotFound {
		t.Errorf("an unknown thread: %v", err)
	}
	_, err = pi.try(`{re: ` + ref + `, epoch: 1, MESS: [{status: {code: pending}}]}`)
	if !errors.As(err, &r) || r.Code != mess.IllegalTransition && r.Code != mess.Invalid || r.Text == "" {
		t.Errorf("an illegal step: %v", err)
	}
	if _, err := pi.try(`config: {executor: {id: somebody-else}}`); !errors.Is(err, mess.Forbidden) {
		t.Errorf("somebody else's registration: %v", err)
	}
}

func conformAgain(t *testing.T, w way) {
	id, can := unique(t, "pi")
	pi := join(t, w, id, can)
	ref := request(t, w, can, "")
	pi.offered(ref)
	first := pi.say(`{id: one, re: ` + ref + `, MESS: [{status: {code: claimed}}]}`)
	before := len(threadOf(t, w, ref).Messages)
	again := pi.say(`{id: one, re: ` + ref + `, MESS: [{status: {code: claimed}}]}`)
	if first.Epoch != again.Epoch || first.Ref != again.Ref || len(threadOf(t, w, ref).Messages) != before {
		t.Errorf("first %+v, again %+v, %d messages", first, again, len(threadOf(t, w, ref).Messages))
	}
}

func conformWithdrawn(t *testing.T, w way) {
	id, can := unique(t, "pi")
	pi, other := join(t, w, id, can), join(t, w, "second-"+id, can)
	ref := request(t, w, can, "")
	other.offered(ref)
	pi.offered(ref)
	pi.claim(ref)
	gone := other.hears("that it is taken", func(m mess.Message) bool {
		return len(m.Re) == 1 && m.Re[0] == ref && m.Items[0].Kind() == mess.KindStatus
	})
	if s := gone.Items[0].(*mess.Status); s.Executor != id {
		t.Errorf("withdrawn: %+v", s)
	}
}

func conformSaid(t *testing.T, w way) {
	id, can := unique(t, "pi")
	pi := join(t, w, id, can)
	ref := request(t, w, can, "")
	pi.offered(ref)
	epoch := pi.claim(ref)
	pi.say(`{re: ` + ref + `, epoch: ` + epoch + `, MESS: [{status: {code: needs_input, questions: [{field: shelf, question: which one}]}}]}`)
	says(t, w, `{re: `+ref+`, MESS: [{reply: {answers: {shelf: upper}}}]}`)
	m := pi.hears("the answer", func(m mess.Message) bool { return m.Items[0].Kind() == mess.KindReply })
	if v, _ := m.Items[0].(*mess.Reply).Answers.Get("shelf"); v != "upper" || m.Re[0] != ref || fmt.Sprint(m.Epoch) != epoch || m.Ref == "" {
		t.Errorf("%+v", m)
	}
	says(t, w, `{re: `+ref+`, MESS: [{cancel: {}}]}`)
	pi.hears("the cancel", func(m mess.Message) bool { return m.Items[0].Kind() == mess.KindCancel && m.Re[0] == ref })
}

func conformStop(t *testing.T, w way) {
	id, can := unique(t, "pi")
	pi := join(t, w, id, can)
	boss := exchange.Actor{ID: "boss", Roles: exchange.Operator}
	s, err := w.x.Stop(t.Context(), boss, mess.Stop{Reason: "smoke", Executors: mess.Refs{id}})
	if err != nil {
		t.Fatal(err)
	}
	m := pi.hears("the stop", func(m mess.Message) bool { return m.Items[0].Kind() == mess.KindConfig })
	got := m.Items[0].(*mess.Config).Stop
	if got == nil || got.ID != s.ID || got.Reason != "smoke" || got.By != "boss" {
		t.Fatalf("%+v", got)
	}
	ack := pi.say(`config: {executor: {id: ` + id + `, holding: [], stopped: {why: smoke}}}`)
	if len(ack.Stops) != 1 || ack.Stops[0].ID != s.ID {
		t.Errorf("a stop that is not confirmed is not told again: %+v", ack)
	}
	if ack = pi.say(`config: {executor: {id: ` + id + `, holding: [], stopped: {orders: [` + s.ID + `], why: smoke}}}`); len(ack.Stops) != 0 {
		t.Errorf("confirmed, and told again: %+v", ack)
	}
}

func conformHold(t *testing.T, w way) {
	id, can := unique(t, "pi")
	pi := join(t, w, id, can)
	boss := exchange.Actor{ID: "boss", Roles: exchange.Operator}
	h, err := w.x.Drain(t.Context(), boss, mess.DrainOrder{Reason: "wet", Executors: mess.Refs{id}})
	if err != nil {
		t.Fatal(err)
	}
	config := func(m mess.Message) bool { return m.Items[0].Kind() == mess.KindConfig }
	if got := pi.hears("the hold", config).Items[0].(*mess.Config); got.Drain == nil || got.Drain.ID != h.ID || got.Drain.Reason != "wet" || got.Drain.By != "boss" || got.Resume != nil {
		t.Fatalf("%+v", got)
	}
	ack := pi.say(`config: {executor: {id: ` + id + `, holding: [], held: {}}}`)
	if ack.Drain == nil || ack.Drain.ID != h.ID {
		t.Errorf("a hold that is not confirmed is not told again: %+v", ack)
	}
	if ack = pi.say(`config: {executor: {id: ` + id + `, holding: [], held: {orders: [` + h.ID + `], why: wet}}}`); ack.Drain != nil {
		t.Errorf("confirmed, and told again: %+v", ack)
	}
	ref := request(t, w, can, "")
	if _, err := pi.try(`{re: ` + ref + `, MESS: [{status: {code: claimed}}]}`); !errors.Is(err, mess.NotYet) {
		t.Errorf("a claim on hold: %v", err)
	}
	end, err := w.x.Resume(t.Context(), boss, mess.DrainOrder{Executors: mess.Refs{id}})
	if err != nil {
		t.Fatal(err)
	}
	pi.hears("its end", func(m mess.Message) bool { // until the executor reads it, the exchange may repeat the drain order
		c, is := m.Items[0].(*mess.Config)
		return is && c.Resume != nil && c.Resume.ID == end.ID && c.Drain == nil
	})
	pi.offered(ref)
	pi.claim(ref)
}

// An executor that reconnects gets the messages that it has missed.
func conformAway(t *testing.T, w way) {
	id, can := unique(t, "pi")
	pi := join(t, w, id, can)
	ref := request(t, w, can, "")
	pi.offered(ref)
	epoch := pi.claim(ref)
	pi.say(`{re: ` + ref + `, epoch: ` + epoch + `, MESS: [{status: {code: needs_input, questions: [{field: shelf, question: which one}]}}]}`)
	pi.off()
	says(t, w, `{re: `+ref+`, MESS: [{reply: {answers: {shelf: upper}}}]}`)
	later := request(t, w, can, "")
	pi.listen()
	seen := map[string]bool{}
	pi.hears("the answer and the offer", func(m mess.Message) bool {
		seen[m.Re[0]+" "+string(m.Items[0].Kind())] = true
		return seen[ref+" reply"] && seen[later+" request"]
	})
}

func conformFiles(t *testing.T, w way) {
	id, can := unique(t, "pi")
	pi, other := join(t, w, id, can), join(t, w, "second-"+id, can)
	ref := request(t, w, can, "")
	pi.offered(ref)
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

func conformHeartbeat(t *testing.T, w way) {
	id, can := unique(t, "pi")
	pi := join(t, w, id, can)
	ref := request(t, w, can, "")
	pi.offered(ref)
	epoch := pi.claim(ref)
	ack := pi.say(`config: {executor: {id: ` + id + `, holding: [{ref: ` + ref + `, epoch: ` + epoch + `}, {ref: 2000-01-01-001, epoch: 3}]}}`)
	if len(ack.Threads) != 2 || !*ack.Threads[0].Yours || ack.Threads[0].Lease == "" || *ack.Threads[1].Yours {
		t.Errorf("%+v", ack.Threads)
	}
}

func conformQueries(t *testing.T, w way) {
	id, can := unique(t, "pi")
	pi := join(t, w, id, can)
	answer, err := pi.try(`query: {id: q, type: executors, filter: {executor: ` + id + `}}`)
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
func conformMany(t *testing.T, w way) {
	id, can := unique(t, "pi")
	pi := join(t, w, id, can)
	const n = 1000
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := i; j < n; j += 8 {
				request(t, w, can, fmt.Sprintf(", id: many-%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), j))
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	pi.hears("a thousand offers", func(m mess.Message) bool {
		if len(m.Items) > 0 && m.Items[0].Kind() == mess.KindRequest {
			seen[m.Re[0]] = true
		}
		return len(seen) == n
	})
}
