package sites_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/internal/test/natsserver"
	"github.com/messkit/messkit/mess"
)

// wire is a client of the servers, beside the exchanges.
func (r *rig) wire(at *natsserver.Server) *nats.Conn {
	r.Helper()
	nc, err := nats.Connect(at.URL())
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(nc.Close)
	return nc
}

// records returns what somebody records who listens to the inbox at the centre.
func (r *rig) records(nc *nats.Conn) *nats.Subscription {
	r.Helper()
	sub, err := nc.SubscribeSync("mess.@cabin.inbox.>")
	if err != nil {
		r.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		r.Fatal(err)
	}
	return sub
}

func (r *rig) next(sub *nats.Subscription) *nats.Msg {
	r.Helper()
	m, err := sub.NextMsg(patience)
	if err != nil {
		r.Fatal(err)
	}
	return m
}

// publishes stores a message in the inbox, and waits until the site has looked at it.
func (r *rig) publishes(nc *nats.Conn, subject string, data []byte) {
	r.Helper()
	m := nats.NewMsg(subject)
	m.Data = data
	if !strings.ContainsAny(subject, "*>") { // with one of them the servers remove the message itself
		m.Header.Set("Nats-Rollup", "sub")
	}
	ack, err := nc.RequestMsg(m, patience)
	if err != nil {
		r.Fatal(err)
	}
	var stored struct{ Seq uint64 }
	if err := json.Unmarshal(ack.Data, &stored); err != nil || stored.Seq == 0 {
		r.Fatalf("the server says %s, %v", ack.Data, err)
	}
	js, err := r.wire(r.leaf).JetStream()
	if err != nil {
		r.Fatal(err)
	}
	var info *nats.ConsumerInfo
	r.await(fmt.Sprintf("the site has looked at %s, message %d", subject, stored.Seq), func() bool {
		info, err = js.ConsumerInfo("mess_cabin_inbox", "exchange")
		return err == nil && info.AckFloor.Stream >= stored.Seq
	})
}

// archives moves a thread into the archive of the site.
func (r *rig) archives(ref string) {
	r.Helper()
	if n, err := r.home.Archive(r.Context(), []string{ref}, time.Now().Add(time.Hour)); err != nil || n != 1 {
		r.Fatalf("archived %d threads, %v", n, err)
	}
}

// isOne checks that the site has one thread of a client id, in the archive or not.
func (r *rig) isOne(id string, archived int) {
	r.Helper()
	refs, err := r.home.Archived(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	open := 0
	for _, e := range r.threads()[id] {
		if !e.Status.Terminal() {
			open++
		}
	}
	if len(refs) != archived || open != 0 {
		r.Errorf("the site has %d archived threads and %d open ones, want %d and 0", len(refs), open, archived)
	}
}

// A request is done once, also if its thread is archived and its client id free again.
func TestRequestOnceAfterArchive(t *testing.T) {
	r := newRig(t, "anna")
	nc := r.wire(r.hub)
	sub := r.records(nc)
	r.ask(anna, light("porch"))
	order := r.next(sub)
	r.await("the site has the request", func() bool { return len(r.threads()["porch"]) > 0 })
	ref := r.work("porch")
	r.awaitStatus(anna, "porch", mess.Completed)
	r.await("nothing waits", func() bool { return r.centre.Uplink().Waiting == 0 })
	r.archives(ref)

	r.publishes(nc, order.Subject, order.Data)
	r.isOne("porch", 1)
	r.await("the receipt comes again", func() bool { return r.centre.Uplink().Waiting == 0 })
	shown := r.shows(anna, "porch")
	if shown.Status == mess.Pending || shown.Status != mess.Completed && !strings.Contains(lastText(shown), "taken by the site") {
		t.Errorf("the centre shows %s: %q", shown.Status, lastText(shown))
	}
	if ack := r.ask(anna, light("porch")); ack.Ref != ref || ack.Status == mess.Pending {
		t.Errorf("the same request again: %+v", ack)
	}
	// A cancel comes after the end, and the id stays used.
	r.cut()
	if _, err := r.post(anna, cancel("porch")); err != nil && !errors.Is(err, mess.IllegalTransition) {
		t.Fatal(err)
	}
	r.uplink.Heal()
	r.await("both sides are connected", func() bool { return r.centre.Uplink().Connected && r.inbox.Uplink().Connected })
	r.await("nothing waits", func() bool { return r.centre.Uplink().Waiting == 0 && r.inbox.Uplink().Waiting == 0 })
	if got := r.shows(anna, "porch"); got.Status == mess.Cancelled || got.Status == mess.Pending {
		t.Errorf("after a late cancel the centre shows %s: %q", got.Status, lastText(got))
	}
	r.ask(anna, light("porch"))
	r.publishes(nc, order.Subject, order.Data)
	r.isOne("porch", 1)
}

// An order that the site has refused has no effect when somebody publishes it again.
func TestReplayOfRefused(t *testing.T) {
	r := newRig(t, "anna")
	nc := r.wire(r.hub)
	sub := r.records(nc)
	r.ask(ben, light("porch"))
	order := r.next(sub)
	r.awaitStatus(ben, "porch", mess.Declined)
	r.stopInbox()
	r.startInbox("*")
	r.publishes(nc, order.Subject, order.Data)
	if all := r.threads(); len(all) != 0 {
		t.Errorf("the site has %+v", all)
	}
	r.ask(ben, light("porch")) // ben asks again himself
	r.await("the site has the request", func() bool { return len(r.threads()["porch"]) == 1 })
}

// A message without a valid signature changes no receipt of a request that the site has taken.
func TestReceiptsStay(t *testing.T) {
	r := newRig(t, "anna")
	nc := r.wire(r.hub)
	sub := r.records(nc)
	r.ask(anna, light("porch"))
	order := r.next(sub)
	r.await("the site has the request", func() bool { return len(r.threads()["porch"]) > 0 })
	ref := r.threads()["porch"][0].Ref
	r.await("nothing waits", func() bool { return r.centre.Uplink().Waiting == 0 })
	beginning := strings.TrimSuffix(order.Subject, order.Subject[strings.LastIndexByte(order.Subject, '.'):])
	for _, subject := range []string{"mess.@cabin.inbox.>", "mess.@cabin.inbox.*", beginning + ".>", beginning + ".*", beginning + ".abc", beginning + ".x." + strings.Repeat("0", 32)} {
		r.publishes(nc, subject, order.Data)
	}
	r.publishes(nc, order.Subject, natslink.Seal(natslink.Secret("another"), natslink.Head{Kind: natslink.Message, Executor: "office", ID: "porch"}, []byte("{}")))
	js, err := r.wire(r.leaf).JetStream()
	if err != nil {
		t.Fatal(err)
	}
	m, err := js.GetLastMsg("mess_cabin", "mess.cabin.i."+order.Subject[strings.LastIndexByte(order.Subject, '.')+1:])
	if err != nil || !strings.Contains(string(m.Data), `"outcome":"taken","ref":"`+ref+`"`) {
		t.Errorf("the receipt is %+v, %v", m, err)
	}
}

// A confirmation must not move the time after which a site does not begin a request.
func TestNoDecideWithin(t *testing.T) {
	r := newRig(t, "anna")
	late := light("porch")
	late.NeededBy = mess.TimeOf(time.Now().Add(time.Hour))
	late.Extra = mess.Object{{Key: mess.DecideWithinField, Value: "5m"}}
	if _, err := r.post(anna, &late); !errors.Is(err, mess.Invalid) || !strings.Contains(err.Error(), "decide_within") {
		t.Errorf("the answer is %v", err)
	}
}
