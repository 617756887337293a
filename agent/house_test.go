package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

var (
	claude = exchange.Actor{ID: "claude-agent", Roles: exchange.Requester}
	person = exchange.Actor{ID: "teague", Roles: exchange.Requester | exchange.Operator}
)

// house is a real exchange and an agent with made devices, in a bubble of fake
// time.
type house struct {
	t     *testing.T
	x     *exchange.Exchange
	close func()

	dir     string // of the journal
	gate    *gate.Gate
	gateCfg gate.Config
	cfg     agent.Config
	words   words
	journal *journal.Journal
	more    []agent.Device
	lamp    *lamp
	fridge  *fridge
	vacuum  *vacuum
	line    *line // between the agent and the exchange
	stop    func()
}

// pi is the agent as the exchange knows it.
func (h *house) pi() exchange.Actor {
	return exchange.Actor{ID: h.cfg.ID, Roles: exchange.ExecutorRole}
}

// memo is what an agent writes down of its plan.
func memo(t *testing.T, plan capabilities.Plan, intent string) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(struct {
		Plan    capabilities.Plan `json:"plan"`
		Request mess.Request      `json:"request"`
	}{plan, mess.Request{Intent: intent}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// inHouse runs a story in a house whose agent is running.
func inHouse(t *testing.T, story func(*house)) {
	t.Helper()
	inHouseWith(t, func(*house) {}, story)
}

// inHouseWith does so after set has changed the house.
func inHouseWith(t *testing.T, set, story func(*house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &house{
			t: t, dir: t.TempDir(), gateCfg: gate.DefaultConfig(), cfg: agent.DefaultConfig(),
			words: words{}, lamp: &lamp{}, fridge: &fridge{}, vacuum: newVacuum(), stop: func() {},
		}
		h.cfg.ID = "home-pi"
		h.openExchange()
		h.words.learn()
		set(h)
		h.startAgent()
		story(h)
		h.stopAgent()
		h.close()
	})
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (h *house) openExchange() {
	x, err := exchange.Open(h.t.Context(), exchange.DefaultConfig(), exchange.NewMemory(), time.Now, quiet())
	if err != nil {
		h.t.Fatal(err)
	}
	h.x = x
	h.line = &line{to: x.As(h.pi(), "test")}
	h.close = running(h.t, x.Run)
}

// running runs f until the function that it returns is called.
func running(t *testing.T, f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// startAgent starts the agent as after a boot: all it knows is its journal.
func (h *house) startAgent() {
	h.t.Helper()
	j, err := journal.Open(h.dir)
	if err != nil {
		h.t.Fatal(err)
	}
	h.journal = j
	h.gate = gate.New(h.gateCfg, time.Now, quiet())
	a := agent.New(h.cfg, h.line, h.words, append([]agent.Device{
		{Name: "porch-lamp", Label: "porch light", Driver: h.lamp},
		{Name: "fridge-cam", Label: "fridge", Driver: h.fridge},
		{Name: "vacuum", Driver: h.vacuum},
	}, h.more...), h.gate, j, time.Now, quiet())
	stop := running(h.t, a.Run)
	h.stop = func() {
		stop()
		if err := j.Close(); err != nil {
			h.t.Error(err)
		}
		h.stop = func() {}
	}
	synctest.Wait()
}

func (h *house) stopAgent() { h.stop() }

// after lets time pass.
func (h *house) after(d time.Duration) {
	time.Sleep(d) // fake time
	synctest.Wait()
}

// says posts what somebody says, which must be taken, and returns the ref.
func (h *house) says(who exchange.Actor, text string) string {
	h.t.Helper()
	ref, err := h.try(who, text)
	if err != nil {
		h.t.Fatalf("%s says %s: %v", who.ID, text, err)
	}
	return ref
}

func (h *house) try(who exchange.Actor, text string) (string, error) {
	h.t.Helper()
	defer synctest.Wait()
	return h.post(who, text)
}

// post posts a message and does not wait for what comes of it.
func (h *house) post(who exchange.Actor, text string) (string, error) {
	h.t.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		h.t.Fatalf("%s: %v", text, err)
	}
	answer, err := h.x.Post(h.t.Context(), exchange.Inbound{Actor: who, Channel: "test", Message: m})
	if err != nil {
		return "", err
	}
	return exchange.ThreadRef(answer.Items[0].(*mess.Ack).Ref), nil
}

func (h *house) thread(ref string) exchange.Thread {
	h.t.Helper()
	t, err := h.x.Thread(h.t.Context(), person, ref)
	if err != nil {
		h.t.Fatal(err)
	}
	return t
}

// is checks how a thread stands, and returns the last status that was said.
func (h *house) is(ref string, want mess.Code) mess.Status {
	h.t.Helper()
	last, _ := h.last(ref)
	if got := h.thread(ref).Status; got != want {
		h.t.Fatalf("%s is %s, want %s; last: %+v %+v", ref, got, want, last, last.Reason)
	}
	return last
}

// last is the last status and the last response of a thread.
func (h *house) last(ref string) (s mess.Status, r mess.Response) {
	h.t.Helper()
	for _, m := range h.thread(ref).Messages {
		for _, item := range m.Items {
			switch i := item.(type) {
			case *mess.Status:
				s = *i
			case *mess.Response:
				r = *i
			}
		}
	}
	return s, r
}

// answers checks that the last response says all of words.
func (h *house) answers(ref string, words ...string) mess.Response {
	h.t.Helper()
	_, r := h.last(ref)
	var said []string
	for _, e := range r.Content {
		if text, ok := e.Text(); ok {
			said = append(said, text)
		}
	}
	all := strings.Join(append(said, r.Notes), " ")
	for _, w := range words {
		if !strings.Contains(all, w) {
			h.t.Errorf("%s answers %q, want %q in it", ref, all, w)
		}
	}
	return r
}

// codes are the statuses of a thread in the order in which they were said.
func (h *house) codes(ref string) string {
	h.t.Helper()
	var codes []string
	for _, m := range h.thread(ref).Messages {
		for _, item := range m.Items {
			if s, ok := item.(*mess.Status); ok {
				codes = append(codes, string(s.Code))
			}
		}
	}
	return strings.Join(codes, " ")
}

// picture reads the attachment of a thread.
func (h *house) picture(ref string) (string, exchange.Attachment) {
	h.t.Helper()
	list := h.thread(ref).Attachments()
	if len(list) != 1 {
		h.t.Fatalf("%s has %d attachments, want one", ref, len(list))
	}
	r, a, err := h.x.Attachment(h.t.Context(), person, ref, list[0].Name)
	if err != nil {
		h.t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		h.t.Fatal(err)
	}
	return string(data), a
}

// line is the way to the exchange. It can be cut, and it can deliver twice.
type line struct {
	to     agent.Exchange
	double bool
	deaf   bool // what is delivered does not come through

	mu     sync.Mutex
	cut    bool
	before func(mess.Message) error // called before a message is sent
	after  func(mess.Message) error // called after it was taken
	attach func() error             // called before and after an attachment is taken
	hangUp context.CancelFunc
}

// cutIt ends every conversation, and lets none begin until it is mended.
func (l *line) cutIt(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	if cut && l.hangUp != nil {
		l.hangUp()
	}
}

func (l *line) set(f func(*line)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l)
}

func (l *line) get() (cut bool, before, after func(mess.Message) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut, l.before, l.after
}

func (l *line) Send(ctx context.Context, m mess.Message) (mess.Message, error) {
	cut, before, after := l.get()
	if cut {
		return mess.Message{}, mess.Refuse(mess.Unavailable, "the line is cut")
	}
	if before != nil {
		if err := before(m); err != nil {
			return mess.Message{}, err
		}
	}
	answer, err := l.to.Send(ctx, m)
	if err == nil && after != nil {
		if err := after(m); err != nil {
			return mess.Message{}, err
		}
	}
	return answer, err
}

func (l *line) Receive(ctx context.Context, handle func(mess.Message)) error {
	lost := mess.Refuse(mess.Unavailable, "the line is cut")
	lctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.set(func(l *line) { l.hangUp = cancel })
	if cut, _, _ := l.get(); cut {
		return lost
	}
	err := l.to.Receive(lctx, func(m mess.Message) {
		if l.closed() {
			return
		}
		handle(m)
		if l.double {
			handle(m)
		}
	})
	if err == nil && ctx.Err() == nil {
		return lost
	}
	return err
}

// closed reports whether nothing can be delivered.
func (l *line) closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut || l.deaf
}

func (l *line) Attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error) {
	l.mu.Lock()
	cut, hook := l.cut, l.attach
	l.mu.Unlock()
	if cut {
		return mess.Media{}, mess.Refuse(mess.Unavailable, "the line is cut")
	}
	if hook == nil {
		return l.to.Attach(ctx, ref, name, mime, data)
	}
	if err := hook(); err != nil {
		return mess.Media{}, err
	}
	m, err := l.to.Attach(ctx, ref, name, mime, data)
	return m, errors.Join(err, hook())
}

// saysCode reports whether a message says a status.
func saysCode(m mess.Message, code mess.Code) bool {
	if len(m.Items) == 0 {
		return false
	}
	s, ok := m.Items[0].(*mess.Status)
	return ok && s.Code == code
}

// words is a resolver that knows some sentences by heart.
type words map[string]capabilities.Outcome

func (w words) learn() {
	plan := func(p capabilities.Plan) capabilities.Outcome { return capabilities.Outcome{Plan: &p} }
	turn := func(on bool) capabilities.Plan {
		return capabilities.Plan{
			Capability: "switch", Device: "porch-lamp", Command: capabilities.SetSwitch, Args: mess.Object{{Key: "on", Value: on}},
			Risk: capabilities.RiskComfort, Effect: capabilities.Idempotent, Summary: "switch the porch light", Reversible: true,
		}
	}
	w["turn on the porch light"] = plan(turn(true))
	w["turn off the porch light"] = plan(turn(false))
	once := turn(true)
	once.Effect = capabilities.Once
	w["ring the bell"] = plan(once)
	w["is the porch light on?"] = plan(capabilities.Plan{
		Device: "porch-lamp", Command: capabilities.ReadState, Risk: capabilities.RiskObserve, Effect: capabilities.Query, Summary: "look at the porch light",
	})
	w["what's in the fridge?"] = plan(capabilities.Plan{
		Device: "fridge-cam", Command: capabilities.Observe, Risk: capabilities.RiskObserve, Effect: capabilities.Query, Summary: "look into the fridge",
	})
	w["vacuum the kitchen"] = capabilities.Outcome{Question: &capabilities.Question{
		Field: "area", Text: "Rice near the sink and crumbs by the stove: which area?", Options: []string{"near sink", "stove", "both"},
	}}
	w["vacuum both"] = plan(clean("near sink", "stove"))
	w["open the safe"] = capabilities.Outcome{Refusal: &capabilities.Refusal{Reason: "there is no safe here", Nearest: []string{"fridge"}}}
	w["juggle"] = plan(capabilities.Plan{Device: "porch-lamp", Command: capabilities.Clean, Summary: "juggle"})
}

func clean(areas ...string) capabilities.Plan {
	return capabilities.Plan{
		Capability: "vacuum-floor", Device: "vacuum", Command: capabilities.Clean, Args: mess.Object{{Key: "areas", Value: areas}},
		Risk: capabilities.RiskMotion, Effect: capabilities.Once, Summary: "vacuum " + strings.Join(areas, " and "),
		Consequences: "the vacuum will move about the kitchen",
	}
}

func (w words) Resolve(req mess.Request) capabilities.Outcome {
	if req.Intent == "crash" {
		panic("boom")
	}
	if out, ok := w[req.Intent]; ok {
		return out
	}
	return capabilities.Outcome{Refusal: &capabilities.Refusal{Reason: "not understood: " + req.Intent}}
}

func (w words) Answer(q capabilities.Question, reply mess.Object, text string, _ mess.Request) capabilities.Outcome {
	area, _ := reply.Get(q.Field)
	switch area {
	case "both":
		return w["vacuum both"]
	case "stove":
		p := clean("stove")
		return capabilities.Outcome{Plan: &p}
	}
	return capabilities.Outcome{Question: &capabilities.Question{Field: q.Field, Text: text + " is no area. " + q.Text, Options: q.Options}}
}

func (w words) Offers() []mess.Capability {
	return []mess.Capability{{ID: "switch"}, {ID: "take-photo"}, {ID: "vacuum-floor"}}
}

// part is what all the made devices have.
type part struct {
	dies    dying
	mu      sync.Mutex
	started int
	halted  int
	log     []string
}

func (p *part) Name() string                 { return "made" }
func (p *part) SetName(string)               {}
func (p *part) Connection() gobot.Connection { return nil }

func (p *part) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started++
	return nil
}

func (p *part) Halt() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.halted++
	return nil
}

func (p *part) note(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, what)
}

// died reports whether the program has died; its call then never comes back to
// anybody who knows of it.
func (p *part) died(ctx context.Context, point string) bool {
	if p.dies == nil || !p.dies(point) {
		return false
	}
	<-ctx.Done()
	return true
}

// did is what was done to the device, as the device itself saw it.
func (p *part) did() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.log, ", ")
}

// lamp is a switch that can be read back.
type lamp struct {
	part
	on      bool
	stuck   bool          // it stays as it is
	broken  error         // what Switch and On return
	blind   bool          // On fails
	takes   time.Duration // how long Switch takes
	unplug  bool          // Start fails
	running func()        // called while it switches
}

// dying is asked by a device before and after each act whether the program has
// died there.
type dying func(point string) bool

func (l *lamp) set(f func(*lamp)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l)
}

func (l *lamp) get() (c struct {
	on, stuck, blind bool
	broken           error
	takes            time.Duration
	running          func()
},
) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.on, c.stuck, c.blind, c.broken, c.takes, c.running = l.on, l.stuck, l.blind, l.broken, l.takes, l.running
	return c
}

func (l *lamp) Start() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unplug {
		return errors.New("no such line")
	}
	l.started++
	return nil
}

func (l *lamp) Switch(ctx context.Context, on bool) error {
	if l.died(ctx, "before the act") {
		return ctx.Err()
	}
	l.note(map[bool]string{true: "on", false: "off"}[on])
	c := l.get()
	if c.running != nil {
		c.running()
	}
	if c.takes > 0 {
		t := time.NewTimer(c.takes)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if c.broken == nil && !c.stuck {
		l.set(func(l *lamp) { l.on = on })
	}
	if l.died(ctx, "after the act") {
		return ctx.Err()
	}
	return c.broken
}

func (l *lamp) On(context.Context) (bool, error) {
	c := l.get()
	if c.blind {
		return false, errors.New("lamp: no answer")
	}
	return c.on, nil
}

// fridge is a camera that knows what it sees.
type fridge struct {
	part
	broken error
}

func (f *fridge) Photo(context.Context) (drivers.Photo, error) {
	f.note("photo")
	return drivers.Photo{Data: []byte("picture of the fridge"), MIME: "image/jpeg", CapturedAt: time.Now()}, f.broken
}

func (f *fridge) Observe(context.Context) (drivers.Observation, error) {
	return drivers.Observation{
		Text:  "There is milk, and three eggs.",
		Facts: []drivers.Fact{{Name: "milk", Value: true}, {Name: "eggs", Value: 3.0, Unit: "pieces"}},
	}, f.broken
}

// vacuum takes ten seconds for each area.
type vacuum struct {
	part
	each   time.Duration
	steps  int  // of progress in each area
	stops  bool // it stops by itself after the first area
	broken error
}

func newVacuum() *vacuum { return &vacuum{each: 10 * time.Second, steps: 50} }

func (v *vacuum) Clean(ctx context.Context, areas []string, progress func(drivers.Progress)) (drivers.Outcome, error) {
	var out drivers.Outcome
	if v.died(ctx, "before the act") {
		return out, ctx.Err()
	}
	v.note("clean " + strings.Join(areas, "+"))
	if v.broken != nil {
		return out, v.broken
	}
	steps := v.steps
	for i, area := range areas {
		for s := range steps {
			done := 100 * float64(i*steps+s) / float64(len(areas)*steps)
			progress(drivers.Progress{Percent: done, Doing: "cleaning " + area, Left: v.each * time.Duration(len(areas)-i)})
			t := time.NewTimer(v.each / time.Duration(steps))
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				v.note("stopped")
				out.Remaining = areas[i:]
				return out, ctx.Err()
			}
		}
		out.Done = append(out.Done, area)
		if v.died(ctx, "after an act") {
			return out, ctx.Err()
		}
		if v.stops {
			out.Remaining = areas[i+1:]
			return out, nil
		}
	}
	return out, nil
}

func (v *vacuum) Dock(context.Context) error { v.note("dock"); return nil }

func (v *vacuum) Map(context.Context) (drivers.Photo, error) {
	return drivers.Photo{Data: []byte("map"), MIME: "image/png", CapturedAt: time.Now()}, nil
}
