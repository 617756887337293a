package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/internal/test/disk"
)

// cutRun is an exchange under load on a disk with simulated power cuts.
type cutRun struct {
	*testing.T
	binary string
	*disk.Disk
	*scenarioLog
	live *process
}

// writers is the number of concurrent scenarios.
const writers = 8

// startCutRun starts an exchange on a new disk, without the syncs of the omission.
func startCutRun(t *testing.T, binary string, o omission) *cutRun {
	t.Helper()
	c := &cutRun{T: t, binary: binary, Disk: disk.New(t, 1<<30)}
	data := filepath.Join(c.Live, "data")
	var err error
	if c.live, err = launch(data, append(o.strace(data), binary)...); err != nil || c.live.url == "" {
		t.Fatalf("%v %s", err, &c.live.stderr)
	}
	t.Cleanup(func() { _ = c.live.kill() }) // has ended already in a successful test
	key, err := operatorKey(data)
	if err != nil {
		t.Fatal(err)
	}
	c.scenarioLog = &scenarioLog{apiClient: newAPIClient(c.live.url, key, ""), pictures: o.pictures}
	if err := c.enroll(); err != nil {
		t.Fatal(err)
	}
	return c
}

// cutUntil cuts the power during scenarios, and passes the losses of each cut to enough, until that
// returns true.
func (c *cutRun) cutUntil(enough func(lost []string) bool) {
	c.Helper()
	ctx, stop := context.WithCancel(c.Context())
	defer stop()
	g, ctx := errgroup.WithContext(ctx)
	for w := range writers {
		g.Go(func() error { return c.runUntilDone(ctx, fmt.Sprint("w", w)) })
	}
	for more := true; more; {
		moment := time.NewTimer(time.Duration(rand.IntN(250)) * time.Millisecond)
		select {
		case <-moment.C:
		case <-ctx.Done():
		}
		acked := c.acknowledged()
		clone := c.Clone(c.Image, "cut.img")
		if rand.IntN(4) == 0 {
			clone = c.cutAgain(clone)
		}
		more = ctx.Err() == nil && !enough(c.inspect(clone, acked))
	}
	stop()
	if err := errors.Join(g.Wait(), c.live.kill()); err != nil {
		c.Errorf("the exchange under load: %v; %s", err, &c.live.stderr)
	}
}

// cutAgain cuts the power a second time, while the exchange starts after the first cut.
func (c *cutRun) cutAgain(clone string) (second string) {
	c.Helper()
	c.WithMounted(clone, func(dir string) {
		var p *process
		var g errgroup.Group
		g.Go(func() (err error) {
			p, err = launch(filepath.Join(dir, "data"), c.binary)
			return err
		})
		moment := time.NewTimer(time.Duration(rand.IntN(100)) * time.Millisecond)
		<-moment.C
		second = c.Clone(clone, "again.img")
		if err := g.Wait(); err != nil {
			c.Fatal(err)
		}
		if err := p.kill(); err != nil {
			c.Fatal(err)
		}
	})
	return second
}

// inspect starts an exchange on a clone, and returns its problems. It pauses the scenarios, because
// load would slow the check down.
func (c *cutRun) inspect(clone string, acked []scenario) (problems []string) {
	c.Helper()
	c.pen.Lock()
	defer c.pen.Unlock()
	c.WithMounted(clone, func(dir string) {
		data := filepath.Join(dir, "data")
		p, err := launch(data, c.binary)
		if err != nil || p.url == "" {
			problems = append(problems, fmt.Sprintf("the exchange does not start: %v %s", err, &p.stderr))
			return
		}
		i := &inspection{apiClient: newAPIClient(p.url, c.operator, c.executor)}
		i.checkAll(acked, c.intents())
		i.stopWhenComplete(p, data, patience)
		problems = i.problems
	})
	return problems
}

// intents returns the intents of all scenarios.
func (l *scenarioLog) intents() map[string]bool {
	intents := map[string]bool{}
	for _, s := range l.acknowledged() {
		intents[s.intent()] = true
	}
	return intents
}

// cutsEnv is the environment variable with the number of cuts; without it there are none.
const cutsEnv = "MESSKIT_POWERCUTS"

func cutCount(t *testing.T) int {
	t.Helper()
	s := os.Getenv(cutsEnv)
	if s == "" {
		t.Skip("simulated power cuts: " + cutsEnv + " is their number; make powercut N=20 sets it")
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %v", cutsEnv, err)
	}
	return n
}

// perDisk is the number of cuts for a disk before a new one. It is small, because the first
// seconds of a log need as many cuts as later ones.
const perDisk = 10

// All acknowledged data exists once after a simulated power cut.
func TestPowerCuts(t *testing.T) {
	n := cutCount(t)
	if !disk.HasOwnMounts(t) {
		return
	}
	binary := buildMesskit(t)
	begin, done, acked := time.Now(), 0, 0
	var mu sync.Mutex
	t.Run("disks", func(disks *testing.T) { // one disk reads while another writes
		for first := 0; first < n; first += perDisk {
			now := min(perDisk, n-first)
			disks.Run(fmt.Sprint(first/perDisk), func(t *testing.T) {
				t.Parallel()
				if disks.Failed() {
					t.Skip("another disk has shown enough")
				}
				c := startCutRun(t, binary, omission{})
				cut := 0
				c.cutUntil(func(lost []string) bool {
					for _, l := range lost[:min(len(lost), 10)] {
						t.Errorf("cut %d: %s", cut, l)
					}
					cut++
					return cut == now
				})
				mu.Lock()
				defer mu.Unlock()
				done += cut
				for _, s := range c.stories {
					acked += s.acked
				}
			})
		}
	})
	took := time.Since(begin)
	t.Logf("%d simulated power cuts in %v, %.1f a second; %d steps acknowledged", done, took.Round(time.Second), float64(done)/took.Seconds(), acked)
}
