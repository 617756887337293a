package routing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// presence is a Presence by lists. An executor that is not in away is live.
type presence struct {
	away, drained map[string]bool
	load          map[string]int
}

func (p presence) IsLive(e *routing.Executor) bool { return !p.away[e.ID] }
func (p presence) IsDrained(id string) bool        { return p.drained[id] }
func (p presence) Load(id string) int              { return p.load[id] }

func ids(s string) map[string]bool {
	m := map[string]bool{}
	for _, id := range strings.Fields(s) {
		m[id] = true
	}
	return m
}

func executor(t testing.TB, text string) *routing.Executor {
	t.Helper()
	m, err := mess.Parse([]byte("config: {executor: {" + text + "}}"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := routing.NewExecutor(*m.Items[0].(*mess.Config).Executor)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func table(t testing.TB, executors ...string) *routing.Table {
	t.Helper()
	table := routing.NewTable()
	for _, text := range executors {
		table = table.With(executor(t, text))
	}
	return table
}

func request(t testing.TB, text string) *thread.Envelope {
	t.Helper()
	m, err := mess.Parse([]byte("request: {intent: x" + text + "}"))
	if err != nil {
		t.Fatal(err)
	}
	return &thread.Envelope{Needs: thread.NeedsOf(*m.Items[0].(*mess.Request)), Status: mess.Pending, Created: now}
}

var now = time.Date(2026, 1, 5, 12, 30, 0, 0, time.UTC) // a Monday

// An executor can do a request, or there is a reason why not.
func TestCheckExecutorStatesReason(t *testing.T) {
	for _, c := range []struct {
		executor, request, why string
	}{
		{"capabilities: [x]", ", requires: [x]", ""},
		{"capabilities: [y]", ", requires: [x]", "no capability x"},
		{"capabilities: [x]", ", requires: [x, y]", "no capability y"},
		{"capabilities: [{x: {floor: [1, 2]}}]", ", requires: [{x: {floor: 2}}]", ""},
		{"capabilities: [{x: {floor: [1, 2]}}]", ", requires: [{x: {floor: 3}}]", "no capability x"},
		{"capabilities: [x]", ", requires: [{x: {executor: other}}]", "another executor"},
		{"capabilities: [x]", ", confirm_before: true", "MESS 1.1"},
		{"capabilities: [x], versions: [1.1.0]", ", confirm_before: true", ""},
		{"availability: schedule, schedule: 0 8-22 * * *", "", ""},
		{"availability: schedule, schedule: 0 1-2 * * *", "", "not available"},
		{"areas: [Kitchen]", ", constraints: {location: kitchen}", ""},
		{"areas: [hall]", ", constraints: {location: kitchen}", "out of its reach"},
		{"areas: [hall]", ", constraints: {location: nobody knows}", ""},
		{"access: [home]", ", constraints: {location: home/attic}", ""},
		{"access: [home/attic]", ", constraints: {location: attic}", ""},
		{"access: [home/attic]", ", constraints: {location: kitchen}", "out of its reach"},
		{"location: {lat: 52.5, lng: 13.4}", ", constraints: {location: {lat: 52.5, lng: 13.4, radius_km: 1}}", ""},
		{"location: {lat: 48.1, lng: 11.6}", ", constraints: {location: {lat: 52.5, lng: 13.4, radius_km: 1}}", "out of its reach"},
	} {
		tab := table(t, "id: e, "+c.executor, "id: cook, areas: [kitchen]", "id: roof, access: [home/attic]")
		err := tab.Request(request(t, c.request), false, now).CheckExecutor(tab.Executor("e"))
		if c.why == "" && err != nil || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%s, asked%s: %v, want %q", c.executor, c.request, err, c.why)
		}
	}
	tab := table(t, "id: e", "id: ann, kind: person")
	r := tab.Request(request(t, ""), true, now)
	if r.CheckExecutor(tab.Executor("e")) == nil || r.CheckExecutor(tab.Executor("ann")) != nil {
		t.Error("a stopped executor gets the request, or a person does not")
	}
}

// A table has the same candidates after changes as a new table, and an older one does not change.
func TestTableFollowsChanges(t *testing.T) {
	old := table(t, "id: a, capabilities: [x, y], areas: [kitchen]", "id: b, capabilities: [x], access: [home/hall]")
	names := func(tab *routing.Table, text string) string {
		var list []string
		for e := range tab.Request(request(t, text), false, now).Candidates() {
			list = append(list, e.ID)
		}
		return strings.Join(list, " ")
	}
	changed := old.With(executor(t, "id: a, capabilities: [z], kind: person")).Without("b").Without("nobody").With(executor(t, "id: c, capabilities: [x]"))
	for _, c := range []struct {
		tab  *routing.Table
		text string
		want string
	}{
		{old, "", "a b"},
		{old, ", requires: [x]", "a b"},
		{old, ", requires: [y]", "a"},
		{old, ", requires: [z]", ""},
		{old, ", constraints: {location: kitchen}", "a"},
		{old, ", constraints: {location: hall}", "b"},
		{changed, "", "c a"},
		{changed, ", requires: [x]", "c"},
		{changed, ", requires: [z]", "a"},
		{changed, ", constraints: {location: kitchen}", "c a"}, // no executor serves it any more
		{changed, ", constraints: {location: hall}", "c a"},
	} {
		if got := names(c.tab, c.text); got != c.want {
			t.Errorf("asked%s: %q, want %q", c.text, got, c.want)
		}
	}
	if old.SamePlaces(changed) || !old.SamePlaces(old.With(executor(t, "id: d"))) {
		t.Error("SamePlaces")
	}
	if changed.Executor("b") != nil || old.Executor("b") == nil || !old.Has(mess.Capability{ID: "y"}) || changed.Has(mess.Capability{ID: "y"}) {
		t.Error("an executor that has left is still there, or the older table has changed")
	}
}

// Choose returns the ranks that rules and time select.
func TestChooseByRank(t *testing.T) {
	tab := table(t, "id: a, capabilities: [x], latency: 30", "id: b, capabilities: [x], latency: 10", "id: c, capabilities: [x]", "id: p, capabilities: [x], kind: person")
	rules := map[string]*routing.Table{
		"":        tab,
		"prefer":  tab.WithRules(mess.Rule{Match: mess.Match{Capability: "x"}, Prefer: mess.Refs{"c", "gone", "b"}}),
		"default": tab.WithRules(mess.Rule{Default: &mess.Preferred{Prefer: mess.Refs{"p"}}}, mess.Rule{Match: mess.Match{Capability: "y"}, Prefer: mess.Refs{"a"}}),
		"latency": tab.WithRules(mess.Rule{Prefer: mess.Refs{mess.LowerLatency}}),
	}
	for _, c := range []struct {
		rule        string
		waits       time.Duration
		delegatedTo string
		away        string
		want        string
		more        bool
	}{
		{"", 0, "", "", "a b c", true},
		{"", time.Minute, "", "", "a b c p", false},
		{"", 0, "", "a b c", "a b c p", false},
		{"", 0, "p", "", "p", true},
		{"prefer", 0, "", "", "c", true},
		{"prefer", time.Minute, "", "", "c b", true},
		{"prefer", 2 * time.Minute, "", "", "c b a", true},
		{"prefer", 0, "", "c", "c b", true},
		{"default", 0, "", "", "p", true},
		{"default", time.Minute, "", "", "p a b c", false},
		{"latency", 0, "", "", "b", true},
		{"latency", time.Minute, "", "", "b a", true},
		{"latency", 0, "", "b", "b a", true},
	} {
		env := request(t, ", requires: [x]")
		env.DelegatedTo = c.delegatedTo
		got := rules[c.rule].Request(env, false, now).Choose(presence{away: ids(c.away)}, routing.Waiting{For: c.waits, OfferTime: time.Minute})
		if strings.Join(got.IDs, " ") != c.want || got.MoreRanks != c.more || got.Wider != 0 {
			t.Errorf("%q after %v, away %q: %+v, want %q and more %v", c.rule, c.waits, c.away, got, c.want, c.more)
		}
	}
}

// many is a table with n executors of one capability.
func many(t testing.TB, n int) *routing.Table {
	var list []*routing.Executor
	for i := range n {
		list = append(list, executor(t, fmt.Sprintf("id: e%05d, capabilities: [x], areas: [room-%d, floor-%d]", i, i, i/10)))
	}
	return routing.NewTable(list...)
}

// Many executors are candidates: a few get an offer at first, more soon, and all in the end.
func TestFewExecutorsGetFirstOffers(t *testing.T) {
	tab, env := many(t, 1000), request(t, ", requires: [x]")
	var offered []string
	for _, c := range []struct {
		waits time.Duration
		want  int
		wider time.Duration
	}{
		{0, 16, time.Second},
		{900 * time.Millisecond, 16, 100 * time.Millisecond},
		{time.Second, 64, time.Second},
		{2 * time.Second, 256, time.Second},
		{3 * time.Second, 1000, 0},
	} {
		got := tab.Request(env, false, now).Choose(presence{}, routing.Waiting{Offered: offered, For: c.waits, OfferTime: time.Minute})
		if len(got.IDs) != c.want || got.Wider != c.wider {
			t.Errorf("after %v %d offers, wider in %v; want %d, %v", c.waits, len(got.IDs), got.Wider, c.want, c.wider)
		}
		for _, id := range offered {
			if !slices.Contains(got.IDs, id) {
				t.Errorf("after %v the offer of %s is taken back", c.waits, id)
			}
		}
		offered = got.IDs
		slices.Sort(offered)
	}
	for _, n := range []int{1, 16} {
		if got := many(t, n).Request(env, false, now).Choose(presence{}, routing.Waiting{OfferTime: time.Minute}); len(got.IDs) != n || got.Wider != 0 || got.Full {
			t.Errorf("%d executors: %+v", n, got)
		}
	}
}

// The first offers go to live executors without a drain order, those with fewer offers first. An
// executor that has declined gets none.
func TestOrderOfOffers(t *testing.T) {
	tab, env := many(t, 100), request(t, ", requires: [x]")
	p := presence{away: map[string]bool{}, drained: map[string]bool{}, load: map[string]int{}}
	var want []string
	for i := range 100 {
		switch id := fmt.Sprintf("e%05d", i); i % 5 {
		case 0:
			p.away[id] = true
		case 1:
			p.drained[id] = true
		case 2:
			env.Declined = append(env.Declined, thread.Decline{Executor: id})
		case 3:
			p.load[id] = 3
		default:
			want = append(want, id) // 20 of them
		}
	}
	choose := func() []string {
		return tab.Request(env, false, now).Choose(p, routing.Waiting{OfferTime: time.Minute}).IDs
	}
	declined := env.Declined
	env.Declined = nil
	for _, id := range choose() {
		if !slices.Contains(want, id) && p.load[id] == 0 && !slices.ContainsFunc(declined, func(d thread.Decline) bool { return d.Executor == id }) {
			t.Errorf("%s is asked before others", id)
		}
	}
	// For each executor that has declined, sixteen more get an offer.
	env.Declined = declined
	if got := choose(); len(got) != 60 {
		t.Errorf("%d are asked, want all but those who are drained or have declined", len(got))
	}
	// If too few executors are live, some others get an offer, and find it when they reconnect.
	env.Declined = nil
	for i := range 100 {
		p.away[fmt.Sprintf("e%05d", i)] = i != 50
	}
	p.drained = nil
	if got := choose(); len(got) != 16 || !slices.Contains(got, "e00050") {
		t.Errorf("%v, want sixteen with the one that is live", got)
	}
}

// Requests that come one after the other are not all offered to the same executors.
func TestOffersAreDistributed(t *testing.T) {
	tab, counts := many(t, 100), map[string]int{}
	for i := range 1000 {
		env := request(t, ", requires: [x]")
		env.Created = now.Add(time.Duration(i) * time.Microsecond)
		for _, id := range tab.Request(env, false, now).Choose(presence{load: counts}, routing.Waiting{OfferTime: time.Minute}).IDs {
			counts[id]++
		}
	}
	for id, n := range counts {
		if n < 155 || n > 165 {
			t.Errorf("%s has %d offers, want about 160", id, n)
		}
	}
	if len(counts) != 100 {
		t.Errorf("%d executors have offers", len(counts))
	}
}

// An executor with enough offers gets no wider offers, but sixteen executors get an offer of each
// request.
func TestExecutorWithEnoughOffers(t *testing.T) {
	tab, env := many(t, 40), request(t, ", requires: [x]")
	p := presence{load: map[string]int{}}
	for i := range 40 {
		p.load[fmt.Sprintf("e%05d", i)] = 64
	}
	p.load["e00007"] = 63
	got := tab.Request(env, false, now).Choose(p, routing.Waiting{For: time.Hour, OfferTime: time.Minute})
	if len(got.IDs) != 17 && len(got.IDs) != 16 || !slices.Contains(got.IDs, "e00007") || len(got.AtLimit)+len(got.IDs) != 40 || got.Wider != 0 {
		t.Errorf("%d offers, %d have enough, wider in %v", len(got.IDs), len(got.AtLimit), got.Wider)
	}
}

func BenchmarkChoose(b *testing.B) {
	for _, n := range []int{1, 16, 1000, 10_000} {
		for name, text := range map[string]string{"any": "", "place": ", constraints: {location: room-0}"} {
			b.Run(fmt.Sprintf("executors=%d/%s", n, name), func(b *testing.B) {
				tab, env := many(b, n), request(b, ", requires: [x]"+text)
				for b.Loop() {
					tab.Request(env, false, now).Choose(presence{}, routing.Waiting{OfferTime: time.Minute})
				}
			})
		}
	}
}

// Notified returns the executors with notification addresses, by id, also after changes.
func TestNotified(t *testing.T) {
	const withTopic = ", notifications: [{type: ntfy, topic: t}]"
	tab := table(t, "id: b"+withTopic, "id: c, kind: person"+withTopic, "id: a"+withTopic, "id: d")
	names := func(tab *routing.Table) (list []string) {
		for _, e := range tab.Notified() {
			list = append(list, e.ID)
		}
		return list
	}
	changed := tab.Without("a").With(executor(t, "id: b, notifications: null")).With(executor(t, "id: d"+withTopic)).With(executor(t, "id: c"+withTopic))
	for _, c := range []struct {
		tab  *routing.Table
		want string
	}{{tab, "a b c"}, {changed, "c d"}, {routing.NewTable(changed.All()...), "c d"}} {
		if got := strings.Join(names(c.tab), " "); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
