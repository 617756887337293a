package sites_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/sites"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/internal/test/freeport"
	"github.com/messkit/messkit/internal/test/link"
	"github.com/messkit/messkit/internal/test/natsserver"
	"github.com/messkit/messkit/mess"
)

var (
	quiet  = slog.New(slog.DiscardHandler)
	anna   = exchange.Actor{ID: "anna", Roles: exchange.Requester}
	ben    = exchange.Actor{ID: "ben", Roles: exchange.Requester}
	boss   = exchange.Actor{ID: "operator", Roles: exchange.Operator | exchange.Requester}
	atSite = exchange.Actor{ID: "operator", Roles: exchange.Operator}
	lamp   = exchange.Actor{ID: "lamp", Roles: exchange.ExecutorRole}
)

const patience = time.Minute // for what must come

// rig is a centre with one site, whose uplink a test can cut.
type rig struct {
	*testing.T
	hub, leaf *natsserver.Server
	uplink    *link.Link
	keys      *keys.Keys       // of the site
	home      *jetstream.Store // of the site
	site      *exchange.Exchange
	inbox     *sites.Inbox
	stopInbox func()

	centre *sites.Centre
	copy   *exchange.Exchange // of the site, at the centre
}

func newRig(t *testing.T, accept ...string) *rig {
	t.Helper()
	t.Parallel()
	r := &rig{T: t}
	port := freeport.Address(t)
	r.hub = natsserver.Start(t, natsserver.Options{Sync: "always", Domain: "hub", More: fmt.Sprintf("leafnodes: {listen: %q, no_advertise: true}", port)})
	r.uplink = link.New(t, port)
	r.leaf = natsserver.Start(t, natsserver.Options{Sync: "always", Domain: "cabin", More: fmt.Sprintf("leafnodes: {reconnect: 500ms, remotes: [{url: %q}]}", "nats-leaf://"+r.uplink.Address())})
	var err error
	if r.keys, err = keys.Open(t.TempDir(), "cabin"); err != nil {
		t.Fatal(err)
	}
	key, err := r.keys.Issue("office", exchange.Requester)
	if err != nil {
		t.Fatal(err)
	}
	r.home = r.store(r.leaf, "")
	r.site = r.exchange("cabin", r.home, nil)
	if _, err := r.site.Post(t.Context(), exchange.Inbound{Actor: lamp, Message: mess.Message{Items: []mess.Item{&mess.Config{Executor: &mess.Executor{ID: "lamp", Capabilities: []mess.Capability{{ID: "light"}}}}}}}); err != nil {
		t.Fatal(err)
	}
	r.startInbox(accept...)
	r.openCentre(natslink.Secret(key))
	return r
}

func (r *rig) store(at *natsserver.Server, domain string) *jetstream.Store {
	r.Helper()
	s, err := jetstream.Open(r.Context(), jetstream.Config{URLs: []string{at.URL()}, Client: "test", Site: "cabin", Replicas: 1, Monitors: []string{at.Monitor()}, Domain: domain})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = s.Close() }) // nothing is lost
	return s
}

func (r *rig) exchange(id string, store exchange.Store, origin exchange.Origin) *exchange.Exchange {
	r.Helper()
	cfg := exchange.DefaultConfig()
	cfg.ID, cfg.Origin = id, origin
	x, err := exchange.Open(r.Context(), cfg, store, time.Now, quiet)
	if err != nil {
		r.Fatal(err)
	}
	r.run(x.Run)
	return x
}

// run runs f until the test ends, or until a call of the returned function.
func (r *rig) run(f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := f(ctx); err != nil {
			r.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	r.Cleanup(stop)
	return stop
}

func (r *rig) startInbox(accept ...string) {
	r.Helper()
	var err error
	r.inbox, err = sites.OpenInbox(sites.InboxConfig{
		Address: natslink.Address{URL: r.leaf.URL()}, Prefix: "mess", Site: "cabin", Replicas: 1, Domain: "hub", Exchange: "office", Accept: accept, Log: quiet,
	}, r.site, r.keys)
	if err != nil {
		r.Fatal(err)
	}
	r.stopInbox = r.run(r.inbox.Run)
}

func (r *rig) openCentre(secret []byte) {
	r.Helper()
	store := r.store(r.hub, "cabin")
	var err error
	r.centre, err = sites.OpenCentre(r.Context(), sites.CentreConfig{
		Address: natslink.Address{URL: r.hub.URL()}, Prefix: "mess", Site: "cabin", Exchange: "office", Replicas: 1, Secret: secret, Log: quiet,
		Copied: func(ctx context.Context) (uint64, time.Duration, error) {
			c, err := store.Copied(ctx)
			return c.Lag, c.Heard, err
		},
	})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(r.centre.Close)
	r.copy = r.exchange("cabin", store, r.centre)
	r.centre.Reads(r.copy)
	r.run(r.centre.Run)
	r.await("the centre is connected with the site", func() bool { return r.centre.Uplink().Connected })
	r.await("the site is connected with the centre", func() bool { return r.inbox.Uplink().Connected })
}

// await waits until something is so.
func (r *rig) await(what string, is func() bool) {
	r.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !is(); <-tick.C {
		if time.Now().After(end) {
			r.Fatalf("%s: not within %v; centre: %+v; site: %+v", what, patience, r.centre.Uplink(), r.inbox.Uplink())
		}
	}
}

func (r *rig) cut() {
	r.Helper()
	r.uplink.Sever()
	r.await("both sides notice the cut", func() bool { return !r.centre.Uplink().Connected && !r.inbox.Uplink().Connected })
}

// post posts items at the centre, and returns the ack.
func (r *rig) post(actor exchange.Actor, items ...mess.Item) (mess.Ack, error) {
	answer, err := r.copy.Post(r.Context(), exchange.Inbound{Actor: r.centre.As(actor), Channel: "test", Message: mess.Message{Items: items}})
	return mess.FirstAck(answer), err
}

func (r *rig) ask(actor exchange.Actor, request mess.Request) mess.Ack {
	r.Helper()
	ack, err := r.post(actor, &request)
	if err != nil {
		r.Fatal(err)
	}
	return ack
}

func light(id string) mess.Request {
	return mess.Request{ID: id, Intent: "turn on " + id, Requires: []mess.Capability{{ID: "light"}}}
}

func cancel(id string) *mess.Cancel { return &mess.Cancel{Re: mess.Refs{id}} }

// shows returns what the centre shows of a request.
func (r *rig) shows(actor exchange.Actor, id string) exchange.Thread {
	r.Helper()
	t, err := r.copy.Thread(r.Context(), r.centre.As(actor), id)
	if err != nil {
		r.Fatal(err)
	}
	return t
}

func (r *rig) awaitStatus(actor exchange.Actor, id string, want mess.Code) exchange.Thread {
	r.Helper()
	var t exchange.Thread
	r.await(id+" is "+string(want)+" at the centre", func() bool { t = r.shows(actor, id); return t.Status == want })
	return t
}

// refs returns the threads at the site, by client id.
func (r *rig) threads() map[string][]exchange.Envelope {
	r.Helper()
	page, err := r.site.List(r.Context(), atSite, exchange.Filter{Limit: 1000})
	if err != nil {
		r.Fatal(err)
	}
	all := map[string][]exchange.Envelope{}
	for _, e := range page.Threads {
		all[e.ClientID] = append(all[e.ClientID], e)
	}
	return all
}

// lastText returns the text of the last message: a note or a status.
func lastText(t exchange.Thread) string {
	if len(t.Messages) == 0 {
		return ""
	}
	switch i := t.Messages[len(t.Messages)-1].Items[0].(type) {
	case *mess.Ack:
		return i.Extra.Text("note")
	case *mess.Status:
		return i.Message
	}
	return ""
}

// A request for a site whose uplink is cut waits, and says so. When the uplink is back, the site has it once, as
// a request of its requester, and the centre sees the course of its thread with a picture.
func TestRequestWaitsForUplink(t *testing.T) {
	r := newRig(t, "anna")
	r.cut()
	before := time.Now()
	ack := r.ask(anna, light("porch"))
	note := ack.Extra.Text("note")
	if ack.Ref != "porch" || ack.Status != mess.Pending || !strings.Contains(note, "waits for the uplink of cabin, which is cut since ") {
		t.Errorf("the answer is %+v", ack)
	}
	again := r.ask(anna, light("porch"))
	if again.Ref != "porch" || again.Status != mess.Pending {
		t.Errorf("the second answer is %+v", again)
	}
	other := light("porch")
	other.Intent = "turn it off"
	if _, err := r.post(anna, &other); !errors.Is(err, mess.Conflict) {
		t.Errorf("another request with the id: %v", err)
	}
	waits := r.shows(anna, "porch")
	if waits.Status != mess.Pending || waits.Intent != "turn on porch" || waits.Requester != "anna@office" || !strings.Contains(lastText(waits), "waits for the uplink of cabin") {
		t.Errorf("the centre shows %+v", waits)
	}
	page, err := r.copy.List(t.Context(), r.centre.As(anna), exchange.Filter{})
	if err != nil || len(page.Threads) != 1 || page.Threads[0].Ref != "porch" {
		t.Errorf("the list of anna: %+v, %v", page, err)
	}
	if page, err := r.copy.List(t.Context(), r.centre.As(ben), exchange.Filter{}); err != nil || len(page.Threads) != 0 {
		t.Errorf("the list of ben: %+v, %v", page, err)
	}
	if _, err := r.copy.Thread(t.Context(), r.centre.As(ben), "porch"); !errors.Is(err, mess.NotFound) {
		t.Errorf("ben reads the request of anna: %v", err)
	}
	if u := r.centre.Uplink(); u.Connected || u.Since == nil || u.Since.After(before) || u.AsOf == nil || u.AgeS < 1 {
		t.Errorf("the uplink is %+v", u)
	}
	if n := len(r.threads()); n != 0 {
		t.Fatalf("the uplink is cut, and the site has %d threads", n)
	}
	r.uplink.Heal()
	r.await("the site has the request", func() bool { return len(r.threads()["porch"]) > 0 })
	r.await("the centre has the thread", func() bool { return r.shows(anna, "porch").Ref != "porch" })
	ref := r.work("porch")
	done := r.awaitStatus(anna, "porch", mess.Completed)
	if done.Ref != ref || done.Requester != "anna@office" || done.Executor != "lamp" {
		t.Errorf("the centre shows %+v", done.Envelope)
	}
	r.readsPicture(ref)
	r.await("nothing waits", func() bool { return r.centre.Uplink().Waiting == 0 && r.inbox.Uplink().Waiting == 0 })
	if late := r.ask(anna, light("porch")); late.Ref != ref || late.Status != mess.Completed {
		t.Errorf("the same request after its end: %+v", late)
	}
	if all := r.threads(); len(all) != 1 || len(all["porch"]) != 1 {
		t.Errorf("the site has %+v", all)
	}
}

// picture is the content of an attachment.
const picture = "a picture of the porch"

// work has the executor of the site carry out a request, with a picture as evidence.
func (r *rig) work(id string) (ref string) {
	r.Helper()
	e := r.threads()[id][0]
	say := func(s *mess.Status, more ...mess.Item) {
		r.Helper()
		now, err := r.site.Envelope(r.Context(), atSite, e.Ref)
		if err != nil {
			r.Fatal(err)
		}
		m := mess.Message{Re: mess.Refs{e.Ref}, Epoch: now.Epoch, Items: append([]mess.Item{s}, more...)}
		if _, err := r.site.Post(r.Context(), exchange.Inbound{Actor: lamp, Channel: "test", Message: m}); err != nil {
			r.Fatal(err)
		}
	}
	say(&mess.Status{Code: mess.Claimed})
	say(&mess.Status{Code: mess.InProgress})
	media, err := r.site.Attach(r.Context(), lamp, e.Ref, "porch.png", "image/png", strings.NewReader(picture))
	if err != nil {
		r.Fatal(err)
	}
	say(&mess.Status{Code: mess.Completed}, &mess.Response{Content: []mess.Entry{mess.MediaEntry("image", media)}})
	return e.Ref
}

func (r *rig) readsPicture(ref string) {
	r.Helper()
	all := r.shows(anna, ref).AllAttachments()
	if len(all) != 1 {
		r.Fatalf("the thread has the attachments %+v", all)
	}
	var data []byte
	r.await("the centre has the picture", func() bool {
		f, _, err := r.copy.Attachment(r.Context(), r.centre.As(anna), ref, all[0].Name)
		if err != nil {
			return false
		}
		defer f.Close()
		data, err = io.ReadAll(f)
		return err == nil
	})
	if string(data) != picture {
		r.Errorf("the picture is %q", data)
	}
}

// A cancel takes the place of its request in the inbox, so the site never has the request. A request that has
// the time to wait for ends without an act, and both sides say so.
func TestCancelAndExpiryBeforeTaken(t *testing.T) {
	r := newRig(t, "*")
	r.cut()
	r.ask(anna, light("porch"))
	late := light("late")
	late.NeededBy = mess.TimeOf(time.Now().Add(time.Second))
	r.ask(anna, late)
	ack, err := r.post(anna, cancel("porch"))
	if note := ack.Extra.Text("note"); err != nil || !strings.Contains(note, "the cancel: it waits for the uplink of cabin") {
		t.Fatalf("the cancel: %+v, %v", ack, err)
	}
	if _, err := r.post(ben, cancel("late")); !errors.Is(err, mess.NotFound) {
		t.Errorf("ben cancels the request of anna: %v", err)
	}
	if again, err := r.post(anna, cancel("porch")); err != nil || again.Ref != "porch" {
		t.Errorf("the second cancel: %+v, %v", again, err)
	}
	r.await("the time of the request is over", func() bool { return strings.Contains(lastText(r.shows(anna, "late")), "its time was over") })
	r.uplink.Heal()
	if got := lastText(r.awaitStatus(anna, "porch", mess.Cancelled)); !strings.Contains(got, "cancelled it before the site had it") {
		t.Errorf("the centre says %q", got)
	}
	if got := lastText(r.awaitStatus(anna, "late", mess.Expired)); !strings.Contains(got, "nothing was done") {
		t.Errorf("the centre says %q", got)
	}
	if u := r.inbox.Uplink(); u.Cancelled != 1 || u.Expired != 1 || u.Taken != 0 {
		t.Errorf("the site says %+v", u)
	}
	if all := r.threads(); len(all) != 0 {
		t.Errorf("the site has %+v", all)
	}
	if _, err := r.post(anna, cancel("porch")); !errors.Is(err, mess.IllegalTransition) {
		t.Errorf("a cancel after the end: %v", err)
	}
	// A cancel of a thread of the site goes there too.
	r.ask(anna, light("gate"))
	r.await("the centre has the thread", func() bool { return r.shows(anna, "gate").Ref != "gate" })
	if _, err := r.post(anna, cancel(r.shows(anna, "gate").Ref)); err != nil {
		t.Fatal(err)
	}
	r.awaitStatus(anna, "gate", mess.Cancelled)
}

// The site takes no request of somebody whom it does not accept, and none with a wrong key. The centre learns
// the reason.
func TestSiteRefuses(t *testing.T) {
	r := newRig(t, "anna")
	r.ask(ben, light("porch"))
	if got := lastText(r.awaitStatus(ben, "porch", mess.Declined)); !strings.Contains(got, "does not accept requests of ben") {
		t.Errorf("the centre says %q", got)
	}
	if _, err := r.keys.Revoke("office"); err != nil {
		t.Fatal(err)
	}
	r.ask(anna, light("gate"))
	if got := lastText(r.awaitStatus(anna, "gate", mess.Declined)); !strings.Contains(got, "not signed with the key") {
		t.Errorf("the centre says %q", got)
	}
	if all := r.threads(); len(all) != 0 {
		t.Errorf("the site has %+v", all)
	}
	key, err := r.keys.Issue("office", exchange.Requester)
	if err != nil {
		t.Fatal(err)
	}
	r.openCentre(natslink.Secret(key))
	r.ask(anna, light("gate")) // nothing was done, so the same id may come again
	r.await("the site has the request", func() bool { return len(r.threads()["gate"]) == 1 })
}

// Each message but requests and own cancels is refused with an error that names the site.
func TestCopyIsForReading(t *testing.T) {
	r := newRig(t)
	made, err := r.site.Post(t.Context(), exchange.Inbound{Actor: ben, Channel: "test", Message: mess.Message{Items: []mess.Item{new(light("own"))}}})
	if err != nil {
		t.Fatal(err)
	}
	ref := mess.FirstAck(made).Ref
	r.await("the centre has the thread of the site", func() bool { _, err := r.copy.Thread(t.Context(), r.centre.As(boss), ref); return err == nil })
	for what, item := range map[string]mess.Item{
		"stop":     &mess.Config{Stop: &mess.Stop{}},
		"register": &mess.Config{Executor: &mess.Executor{ID: "x"}},
		"claim":    &mess.Status{Code: mess.Claimed, Re: mess.Refs{ref}},
		"cancel":   cancel(ref),
		"query":    &mess.Query{Type: "status"},
	} {
		_, err := r.post(boss, item)
		if !errors.Is(err, mess.Forbidden) || !strings.Contains(err.Error(), "cabin") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := r.copy.Thread(t.Context(), r.centre.As(ben), ref); !errors.Is(err, mess.NotFound) {
		t.Errorf("ben of the centre reads the thread of ben of the site: %v", err)
	}
	if _, err := r.copy.Attach(t.Context(), r.centre.As(boss), ref, "x", "", strings.NewReader("x")); err == nil {
		t.Error("the copy takes an attachment")
	}
	if e := r.threads()["own"][0]; e.Status != mess.Pending {
		t.Errorf("the thread of the site is %s", e.Status)
	}
}
