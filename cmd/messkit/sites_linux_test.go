package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/daemon/status"
	"github.com/messkit/messkit/internal/test/freeport"
	"github.com/messkit/messkit/internal/test/link"
	"github.com/messkit/messkit/internal/test/natsserver"
	"github.com/messkit/messkit/mess"
)

// site is an exchange and an executor at a leaf node, whose uplink a test can cut.
type site struct {
	*testing.T
	hub, leaf *natsserver.Server
	uplink    *link.Link
	lamp      *rigLamp
	home      string

	exchange, executor *process
	operator           *httpclient.Client
	centre             *process           // nil: there is none
	copy               *httpclient.Client // of the threads of the site, at the centre
	levels             []int              // that the requests have set
}

// newSite starts a centre and a site for a test that runs beside others.
func newSite(t *testing.T) *site {
	t.Helper()
	t.Parallel()
	if testing.Short() {
		t.Skip("starts servers and programs")
	}
	s := &site{T: t, home: t.TempDir(), lamp: newRigLamp(t, 1)}
	port := freeport.Address(t)
	s.hub = natsserver.Start(t, natsserver.Options{Sync: "always", Domain: "hub", More: fmt.Sprintf("leafnodes: {listen: %q, no_advertise: true}", port)})
	s.uplink = link.New(t, port)
	s.leaf = natsserver.Start(t, natsserver.Options{Sync: "always", Domain: "cabin", More: fmt.Sprintf("leafnodes: {reconnect: 1s, remotes: [{url: %q, deny_imports: [\"mess.cabin.>\", \"$O.>\", \"$KV.>\"]}]}", "nats-leaf://"+s.uplink.Address())})
	s.write("exchange.yaml", fmt.Sprintf("exchange:\n  id: home\n  listen: %q\n  mqtt: {listen: off}\n  store: {url: %q, site: cabin, replicas: 1, monitor: [%q]}\n  centre: {domain: hub, exchange: office, accept: [anna]}\n", freeport.Address(t), s.leaf.URL(), s.leaf.Monitor()))
	s.write("pi.yaml", fmt.Sprintf("connect: {url: %q, exchange: cabin, key_file: %q}\nagent: {id: pi, data: %q, disarm: []}\ndevices:\n%s", s.leaf.URL(), filepath.Join(s.home, "pi.key"), filepath.Join(s.home, "pi"), lampConfig(1, s.lamp.links[0])))
	s.startExchange()
	key, err := s.operator.IssueKey(t.Context(), "pi", []string{"executor"})
	if err != nil {
		t.Fatal(err)
	}
	s.write("pi.key", string(key))
	s.startExecutor()
	s.startCentre()
	return s
}

func (s *site) write(name, text string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.home, name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

func (s *site) startExchange() {
	s.Helper()
	s.exchange = s.startProcess("exchange", "--config", filepath.Join(s.home, "exchange.yaml"))
	key, err := operatorKey(filepath.Join(s.home, ".mess"))
	if err != nil {
		s.Fatalf("%v\n%s", err, s.exchange.stderr.String())
	}
	s.operator = clientFor(s.T, strings.TrimSuffix(s.exchange.url, "/api/v1/exchanges/home"), httpclient.Secret(key))
}

func (s *site) startExecutor() {
	s.Helper()
	s.executor = s.startProcess("run", "--config", filepath.Join(s.home, "pi.yaml"))
}

func (s *site) startProcess(command ...string) *process {
	s.Helper()
	p, err := start(s.home, append([]string{buildMesskit(s.T)}, command...)...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = p.kill() }) // the test may have killed it
	return p
}

// dim requests a level of the lamp, and waits until that is done.
func (s *site) dim(level int) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	r := mess.Request{ID: fmt.Sprint("level-", level), Intent: fmt.Sprintf("set dimmer 1 to %d percent", level)}
	var ref string
	soon(s.T, "the exchange takes the request", func() bool {
		answer, err := s.operator.Send(ctx, mess.Message{Items: []mess.Item{&r}})
		if err != nil || len(answer.Items) == 0 {
			return false
		}
		ack, ok := answer.Items[0].(*mess.Ack)
		if ok {
			ref = ack.Ref
		}
		return ok
	})
	awaitStatus(ctx, s.T, s.operator, ref, mess.Completed)
	s.levels = append(s.levels, level)
}

// steps returns each step of a thread in a stream, and how often it is there.
func steps(t *testing.T, server *natsserver.Server, stream string) map[string]int {
	t.Helper()
	nc, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for n := info.State.FirstSeq; n <= info.State.LastSeq && info.State.Msgs > 0; n++ {
		if m, err := s.GetMsg(t.Context(), n); err == nil && strings.HasPrefix(m.Subject, "mess.cabin.t.") {
			all[m.Subject+" "+string(m.Data)]++
		}
	}
	return all
}

// A site with a leaf node works while its uplink is cut, also after its exchange, its executor and its
// server were killed. The lamp gets each command once. When the uplink is back, the centre has each step of
// the site once.
func TestSiteWithoutUplink(t *testing.T) {
	s := newSite(t)
	s.dim(10)
	const stream = "mess_cabin"
	soon(t, "the centre has the first steps", func() bool { return len(steps(t, s.hub, stream)) > 0 })
	s.uplink.Sever()
	s.dim(20)
	if err := s.exchange.kill(); err != nil {
		t.Fatal(err)
	}
	s.startExchange()
	s.dim(30)
	if err := s.executor.kill(); err != nil {
		t.Fatal(err)
	}
	s.startExecutor()
	s.dim(40)
	s.leaf.Kill()
	s.leaf.Restart()
	s.dim(50)
	here := steps(t, s.leaf, stream)
	if there := steps(t, s.hub, stream); len(there) >= len(here) {
		t.Errorf("the uplink is cut, and the centre has %d of %d steps", len(there), len(here))
	}
	s.uplink.Heal()
	soon(t, "the centre has all steps", func() bool {
		there := steps(t, s.hub, stream)
		for step := range here {
			if there[step] == 0 {
				return false
			}
		}
		return true
	})
	for step, n := range steps(t, s.hub, stream) {
		if n != 1 {
			t.Errorf("the centre has %d times: %.100s", n, step)
		}
	}
	for _, level := range s.levels {
		if times := s.lamp.commandTimes(level, time.Time{}, time.Now()); len(times) != 1 {
			t.Errorf("the lamp has got the level %d %d times, want once", level, len(times))
		}
	}
}

// startCentre starts an exchange at the centre, which reads the site and has a key there.
func (s *site) startCentre() {
	s.Helper()
	key, err := s.operator.IssueKey(s.Context(), "office", []string{"requester"})
	if err != nil {
		s.Fatal(err)
	}
	s.write("cabin.key", string(key))
	s.write("office.yaml", fmt.Sprintf("exchange:\n  id: office\n  data: %q\n  listen: %q\n  mqtt: {listen: off}\n  store: {url: %q, replicas: 1, monitor: [%q]}\n  sites: {cabin: {key_file: %q}}\n",
		filepath.Join(s.home, "office"), freeport.Address(s.T), s.hub.URL(), s.hub.Monitor(), filepath.Join(s.home, "cabin.key")))
	s.centre = s.startProcess("exchange", "--config", filepath.Join(s.home, "office.yaml"))
	url := strings.TrimSuffix(s.centre.url, "/api/v1/exchanges/home")
	operator, err := operatorKey(filepath.Join(s.home, "office"))
	if err != nil {
		s.Fatalf("%v\n%s", err, s.centre.stderr.String())
	}
	anna, err := clientFor(s.T, url, httpclient.Secret(operator)).IssueKey(s.Context(), "anna", []string{"requester"})
	if err != nil {
		s.Fatal(err)
	}
	s.write("anna.key", string(anna))
	s.copy, err = httpclient.New(httpclient.Config{URL: url, Exchange: "cabin", Key: anna}, output.NoLog)
	if err != nil {
		s.Fatal(err)
	}
}

// askSite requests a level of the lamp at the centre. It returns the note of the answer.
func (s *site) askSite(level int, neededBy mess.Time) (note string) {
	s.Helper()
	r := mess.Request{ID: fmt.Sprint("level-", level), Intent: fmt.Sprintf("set dimmer 1 to %d percent", level), NeededBy: neededBy}
	answer, err := s.copy.Send(s.Context(), mess.Message{Items: []mess.Item{&r}})
	if err != nil {
		s.Fatal(err)
	}
	s.levels = append(s.levels, level)
	return mess.FirstAck(answer).Extra.Text("note")
}

// hasThread reports whether the site has a thread for a level.
func (s *site) hasThread(level int) bool {
	list, err := s.operator.List(s.Context(), httpclient.Filter{Limit: 100})
	return err == nil && slices.ContainsFunc(list, func(t httpclient.Thread) bool { return strings.HasSuffix(t.Ref, fmt.Sprint("level-", level)) })
}

// awaitUplink waits until both sides say that the uplink works, or that it is cut.
func (s *site) awaitUplink(connected bool) {
	s.Helper()
	var here, there status.Document
	soon(s.T, fmt.Sprintf("both sides say connected %v", connected), func() bool {
		operator, err := operatorKey(filepath.Join(s.home, "office"))
		if err != nil {
			return false
		}
		at := clientFor(s.T, strings.TrimSuffix(s.centre.url, "/api/v1/exchanges/home"), httpclient.Secret(operator))
		return s.operator.Status(s.Context(), &here) == nil && at.Status(s.Context(), &there) == nil &&
			here.Centre != nil && here.Centre.Connected == connected && len(there.Sites) == 1 && there.Sites[0].Connected == connected
	})
}

// messkit runs a command as anna at the centre, and returns its output.
func (s *site) messkit(command ...string) string {
	s.Helper()
	url := strings.TrimSuffix(s.centre.url, "/api/v1/exchanges/home")
	c := exec.Command(buildMesskit(s.T), append(command, "--url", url, "--exchange", "cabin", "--key-file", filepath.Join(s.home, "anna.key"))...)
	out, err := c.CombinedOutput()
	if err != nil {
		s.Fatalf("%v: %v\n%s", command, err, out)
	}
	return string(out)
}

// Somebody at the centre requests something of the site, while the uplink is cut in each phase of the way, and
// while the exchange and the server of the site are killed. The lamp gets each command once. It gets
// none whose time was over, and none with a cancel before it.
func TestRequestsOfTheCentre(t *testing.T) {
	s := newSite(t)
	s.awaitUplink(true)

	s.uplink.Sever() // before the request
	s.awaitUplink(false)
	if note := s.askSite(11, ""); !strings.Contains(note, "it waits for the uplink of cabin, which is cut since ") {
		t.Errorf("the answer says %q", note)
	}
	if out := s.messkit("ls"); !strings.Contains(out, "level-11") || !strings.Contains(out, "pending") {
		t.Errorf("messkit ls says %s", out)
	}
	if out := s.messkit("show", "level-11"); !strings.Contains(out, "it waits for the uplink of cabin") {
		t.Errorf("messkit show says %s", out)
	}
	s.askSite(91, mess.TimeOf(time.Now().Add(2*time.Second)))
	s.askSite(92, "")
	if out := s.messkit("cancel", "level-92"); !strings.Contains(out, "the cancel: it waits for the uplink of cabin") {
		t.Errorf("messkit cancel says %s", out)
	}
	s.dim(10) // the site goes on
	s.leaf.Kill()
	s.leaf.Restart()
	s.uplink.Heal()
	s.awaitUplink(true)

	s.askSite(12, "") // and a cut after it, perhaps in the mirror
	s.uplink.Sever()
	s.awaitUplink(false)
	s.uplink.Heal()
	s.awaitUplink(true)

	s.uplink.Hold(link.Back) // the mirror asks, and the answer does not come whole
	s.askSite(13, "")
	s.uplink.Sever()
	s.uplink.Heal()

	for n, level := range []int{14, 15} { // a kill of the exchange before or after its acknowledgment
		s.askSite(level, "")
		if n == 1 {
			soon(t, "the site has the request", func() bool { return s.hasThread(level) })
		}
		if err := s.exchange.kill(); err != nil {
			t.Fatal(err)
		}
		s.startExchange()
	}
	s.askSite(16, "") // and of the server
	s.leaf.Kill()
	s.leaf.Restart()

	for _, level := range []int{11, 12, 13, 14, 15, 16} {
		awaitStatus(t.Context(), t, s.copy, fmt.Sprint("level-", level), mess.Completed)
	}
	awaitStatus(t.Context(), t, s.copy, "level-91", mess.Expired)
	awaitStatus(t.Context(), t, s.copy, "level-92", mess.Cancelled)
	for _, level := range s.levels {
		want := 1
		if level > 90 {
			want = 0
		}
		if times := s.lamp.commandTimes(level, time.Time{}, time.Now()); len(times) != want {
			t.Errorf("the lamp has got the level %d %d times, want %d", level, len(times), want)
		}
	}
	if out := s.messkit("show", "level-11"); !strings.Contains(out, "completed") || !strings.Contains(out, "anna@office") {
		t.Errorf("messkit show says %s", out)
	}
}
