// Package simulation_test runs an exchange, several executors and their requesters for simulated
// years, in minutes, with all faults that can happen. The network loses, duplicates, reorders and
// delays messages. Machines lose power during a write, clocks jump, devices hang, and people
// change their minds. A checker then compares the log of the devices with all reports.
//
// One number determines a scenario. The same number gives the same scenario.
package simulation_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// faults are deliberate defects that the checker must find.
type faults struct {
	twice            bool // a driver does each command twice
	noFence          bool // executors leave the epoch out
	forgetful        bool // the exchange's disk acknowledges writes too early
	forgetfulJournal bool // the executors' disks acknowledge writes too early
	unhurried        bool // requests leave out needed_by, depends_on and the confirmation
	unlimited        bool // lamps have no time limit
	unstopped        bool // the emergency stop has no effect
	shared           bool // all executors have the same robot
	plain            bool // a driver reports no effect for a command without an answer
}

// scenario is some days of a deployment with faults, and then a day for all tasks to end.
type scenario struct {
	chance *chance
	world  *world
	server *server
	boards []*executor
	people *people
	took   time.Duration

	threads map[string]exchange.Thread // at the end, by ref
	onFiles bool
}

// tally is the sum over many scenarios.
type tally struct {
	took                                                 time.Duration
	requests, acts, boots, cuts, restarts, lost, doubled int
	steps, hangs, completed, unknown, onFiles, lates     int
	twins, granted, pairs                                int
	transitions                                          map[string]int
}

func (t *tally) add(sc *scenario) {
	t.took += sc.took
	t.requests += len(sc.people.orders)
	if sc.onFiles {
		t.onFiles++
	}
	if t.transitions == nil {
		t.transitions = map[string]int{}
	}
	t.transitions["T6"] += len(sc.world.acts)
	for _, list := range sc.server.seen {
		for i := range list {
			t.transitions[step(list[:i+1])]++
		}
	}
	t.acts += len(sc.world.acts)
	for _, b := range sc.boards {
		t.boots += b.boots - 1
		t.cuts += b.cuts
		t.twins += b.twin
	}
	if len(sc.server.nodes) > 1 {
		t.pairs++
	}
	for _, n := range sc.server.nodes {
		t.restarts += n.boots - 1
		t.steps += len(n.steps)
	}
	t.granted += sc.server.granted
	t.lost += sc.server.lost
	t.doubled += sc.server.doubled
	t.hangs += sc.world.hangs
	t.lates += sc.world.lates
	for _, list := range sc.server.seen {
		switch list[len(list)-1].env.Status {
		case "completed":
			t.completed++
		case "failed":
			t.unknown++
		}
	}
}

func (t *tally) String() string {
	var steps []string
	for _, tr := range mess.Transitions {
		if n, ok := t.transitions[tr.Name]; ok {
			steps = append(steps, fmt.Sprintf("%s %d", tr.Name, n))
		}
	}
	return fmt.Sprintf(`%.1f simulated days, %.2f years
%d requests: %d completed, %d failed; %d acts
%d boots of executors, %d of them after power cuts; %d boots of the exchange, %d scenarios with files, %d with two exchanges
%d times a second process of an id; %d starts granted to a process that died
%d messages lost, %d doubled; %d clock steps; %d times a device failed or hung, %d commands arrived late
%s`,
		t.took.Hours()/24, t.took.Hours()/24/365, t.requests, t.completed, t.unknown, t.acts,
		t.boots, t.cuts, t.restarts, t.onFiles, t.pairs, t.twins, t.granted, t.lost, t.doubled, t.steps, t.hangs, t.lates, strings.Join(steps, ", "))
}

// step returns the name of the last transition of a thread, or "" if there is none.
func step(list []seen) string {
	if len(list) == 1 {
		return "T1"
	}
	was, is := list[len(list)-2].env.Status, list[len(list)-1]
	by := mess.ByExecutor
	switch is.from {
	case exchange.Self:
		by = mess.ByExchange
	case person.ID:
		by = mess.ByRequester
	}
	if over(was) && by == mess.ByExecutor {
		return "T14"
	}
	for _, tr := range mess.Transitions {
		if was != is.env.Status && tr.By&by != 0 && slices.Contains(tr.From, was) && slices.Contains(tr.To, is.env.Status) {
			return tr.Name
		}
	}
	return ""
}

// Duration of the faults in a scenario: in a quick test, and in a long run.
const (
	aDay = 24 * time.Hour
	long = 4 * aDay
)

// play runs one scenario, with faults during trouble.
func play(t *testing.T, seed uint64, trouble time.Duration, f faults) *scenario {
	t.Helper()
	sc := &scenario{}
	synctest.Test(t, func(t *testing.T) {
		sc.chance = &chance{seed: seed}
		sc.world = newWorld(sc.chance)
		sc.world.plain = f.plain
		sc.server = &server{name: "server", mu: new(sync.Mutex), t: t, chance: sc.chance, cfg: exchange.DefaultConfig(), faulty: f, store: memory.New(), seen: map[string][]seen{}}
		r := sc.chance.of("scenario")
		sc.server.beat = 10 * time.Second
		if r.IntN(4) > 0 { // slow executors, with long leases
			sc.server.cfg.Lease, sc.server.cfg.Unreachable = 5*time.Minute, 5*time.Minute
			sc.server.beat = 90 * time.Second
		}
		sc.server.nodes = []*server{sc.server}
		switch kind := r.IntN(4); {
		case f.forgetful:
		case kind == 0: // the store of one board
			sc.server.dir, sc.server.store = scratch(t), nil
			sc.onFiles = true
		case kind == 1:
			sc.server.join()
		}
		for _, n := range sc.server.nodes {
			n.boot()
		}
		sc.run(t, r.IntN(2)+2, trouble)
	})
	return sc
}

// run starts all parties with faults, heals all faults, and waits until all tasks end.
func (sc *scenario) run(t *testing.T, boards int, wrong time.Duration) {
	dir := scratch(t)
	trouble, heal := context.WithCancel(context.Background())
	var troubles, wishes sync.WaitGroup
	for i := range boards {
		b := &executor{id: fmt.Sprintf("board-%d", i), w: sc.world, s: sc.server, dir: dir}
		b.disk = fmt.Sprintf("%s/%s", dir, b.id)
		b.link = &link{s: sc.server, who: exchange.Actor{ID: b.id, Roles: exchange.ExecutorRole}}
		sc.boards = append(sc.boards, b)
		time.Sleep(time.Duration(i+1) * time.Millisecond)
		b.boot()
		troubles.Go(func() { b.live(trouble) })
		troubles.Go(func() { b.pressStops(trouble) })
		troubles.Go(func() { b.runTwins(trouble) })
		troubles.Go(func() { b.link.flap(trouble) })
	}
	over, giveUp := context.WithCancel(context.Background())
	sc.people = &people{over: over, s: sc.server, link: &link{s: sc.server, who: person}}
	troubles.Go(func() { sc.people.live(trouble, 8*time.Minute, &wishes) })
	for _, n := range sc.server.nodes {
		troubles.Go(func() { n.live(trouble) })
	}
	time.Sleep(wrong)
	sc.chance.healed.Store(true)
	heal()
	troubles.Wait()
	time.Sleep(26 * time.Hour) // longer than any task may take
	sc.took = time.Since(sc.world.start)
	giveUp()
	wishes.Wait()
	sc.stop(t)
	for _, n := range sc.server.nodes {
		n.crash()
	}
	sc.read(t)
	time.Sleep(time.Hour) // for calls still in progress
}

// read reads the threads from the disk.
func (sc *scenario) read(t *testing.T) {
	sc.server.mount()
	sc.threads = map[string]exchange.Thread{}
	for _, w := range sc.people.orders {
		th, _, err := sc.server.store.Read(context.Background(), w.ref)
		if err == nil {
			sc.threads[w.ref] = th
		} else if !errors.Is(err, exchange.ErrNoThread) {
			t.Error(err)
		}
	}
	if err := sc.server.store.Close(); err != nil {
		t.Error(err)
	}
}

// stop stops the executors gracefully, and records the tasks in their journals.
func (sc *scenario) stop(t *testing.T) {
	for _, b := range sc.boards {
		b.end(false)
		j, err := journal.Open(b.disk)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range j.Tasks() {
			b.left = append(b.left, task.Ref)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// scratch returns a folder, in memory if possible. The simulation cuts the power by a copy of the
// folder, so it does not need a real disk.
func scratch(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "simulation")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// number reads a setting of a long run.
func number(t *testing.T, name string, otherwise int) int {
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestScenarios plays MESSKIT_SIMULATE scenarios with four days of faults each, or
// with MESSKIT_SIMULATE_HOURS of them, from seed MESSKIT_SEED on. Without the first
// variable it plays two scenarios of one day.
func TestScenarios(t *testing.T) {
	n := number(t, "MESSKIT_SIMULATE", 2)
	trouble := aDay
	if os.Getenv("MESSKIT_SIMULATE") != "" {
		trouble = time.Duration(number(t, "MESSKIT_SIMULATE_HOURS", int(long/time.Hour))) * time.Hour
	}
	first := number(t, "MESSKIT_SEED", 1)
	var mu sync.Mutex
	var all tally
	t.Cleanup(func() { all.report(t, n) })
	for lane := range 2 {
		t.Run(fmt.Sprint("lane ", lane), func(t *testing.T) {
			t.Parallel()
			for i := lane; i < n; i += 2 {
				seed := first + i
				sc := play(t, uint64(seed), trouble, faults{})
				for _, line := range sc.check() {
					t.Errorf("seed %d: %s", seed, line)
				}
				mu.Lock()
				all.add(sc)
				mu.Unlock()
			}
		})
	}
}

// report logs the totals. It fails if a long run did not contain every transition of the design.
func (t *tally) report(tb testing.TB, scenarios int) {
	tb.Log(t)
	inside := []string{"T5", "T7"} // visible only on an executor's own disk
	for _, tr := range mess.Transitions {
		if scenarios >= 20 && t.transitions[tr.Name] == 0 && !slices.Contains(inside, tr.Name) {
			tb.Errorf("no scenario reached %s; seen: %q", tr.Name, slices.Sorted(maps.Keys(t.transitions)))
		}
	}
}

// hash returns a digest of all events.
func (sc *scenario) hash() string {
	var lines []string
	for _, a := range sc.world.acts {
		lines = append(lines, fmt.Sprint(a.at.UnixNano(), a.token, a.robot))
	}
	for ref, list := range sc.server.seen {
		for _, s := range list {
			lines = append(lines, fmt.Sprint(s.at.UnixNano(), ref, s.env.Status, s.env.Ver, s.env.Epoch, s.from))
		}
	}
	slices.Sort(lines)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, "\n"))))
}

func TestSeedDeterminesScenario(t *testing.T) {
	if testing.Short() {
		t.Skip("it plays two scenarios")
	}
	seed := uint64(number(t, "MESSKIT_SEED", 1))
	a, b := play(t, seed, aDay, faults{}), play(t, seed, aDay, faults{})
	if a.hash() != b.hash() {
		t.Errorf("seed %d was played twice, and came out differently: %d and %d acts", seed, len(a.world.acts), len(b.world.acts))
	}
}

// The checker finds each deliberate fault.
func TestPlantedFaultsAreFound(t *testing.T) {
	for i, c := range []struct {
		name string
		f    faults
		want string
	}{
		{"a driver does everything twice", faults{twice: true}, "I1 "},
		{"no fence", faults{noFence: true}, "I4 "},
		{"the exchange's disk loses writes", faults{forgetful: true}, "I6 "},
		{"the executor's journal loses writes", faults{forgetfulJournal: true}, "I3 "},
		{"needed_by is not heeded", faults{unhurried: true}, "I8 "},
		{"no yes is asked for", faults{unhurried: true}, "I9 "},
		{"a lamp without a limit", faults{unlimited: true}, "I10 "},
		{"a stop that does not stop", faults{unstopped: true}, "I11 "},
		{"an unanswered command counts as not done", faults{plain: true}, "I3 "},
		{"two executors with one robot", faults{shared: true}, "I12 "},
		{"what it depends on is not heeded", faults{unhurried: true}, "I14 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && i > 0 {
				t.Skip("a quick run plants one")
			}
			t.Parallel()
			for seed := range uint64(8) {
				lines := play(t, seed+1, aDay, c.f).check()
				if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, c.want) }) {
					return
				}
			}
			t.Errorf("not seen in 8 scenarios; want %s", c.want)
		})
	}
}
