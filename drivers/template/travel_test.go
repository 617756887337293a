package template_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/template"
)

// An interrupted cover stands still if the device has acknowledged the command and the
// stop. If the device may receive one of them late, the cover may still move.
func TestTravelInterrupted(t *testing.T) {
	deaf := errors.New("no answer")
	for name, c := range map[string]struct {
		move, stop error
		ignores    int // number of stop commands that the cover accepts and ignores
		cut        time.Duration
		mayAct     bool
		nothing    bool
	}{
		"on its way":                        {nil, nil, 0, time.Second, false, false},
		"on its way, obeys the second stop": {nil, nil, 1, time.Second, false, false},
		"on its way, and ignores each stop": {nil, nil, 1 << 20, time.Second, true, false},
		"on its way, cannot stop":           {nil, deaf, 0, time.Second, true, false},
		"may not be received":               {deaf, nil, 0, time.Minute, true, false},
		"may not be received, both":         {deaf, deaf, 0, time.Minute, true, false},
		"has not received it":               {drivers.ErrNothingDone, nil, 0, time.Minute, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stops, moves := 0, true
				travel := template.Movement{
					Go: func(context.Context) error { return c.move },
					Look: func(context.Context) (template.CoverPosition, error) {
						return template.CoverPosition{Moving: moves}, nil
					},
					Stop: func(context.Context) error {
						stops++
						moves = moves && (c.stop != nil || stops <= c.ignores)
						return c.stop
					},
					To: 100, Limit: time.Hour, Every: 100 * time.Millisecond, Timeout: time.Second,
				}
				ctx, cancel := context.WithTimeout(t.Context(), c.cut)
				defer cancel()
				err := travel.Do(ctx)
				if err == nil || errors.Is(err, drivers.ErrMayAct) != c.mayAct || errors.Is(err, drivers.ErrNothingDone) != c.nothing {
					t.Errorf("%v; want it to act yet: %t, nothing done: %t", err, c.mayAct, c.nothing)
				}
			})
		})
	}
}

// An error of a reading before the command is ErrNothingDone. An error after the command is
// not.
func TestReadingErrorBeforeCommand(t *testing.T) {
	offline := drivers.MarkNothingDone(errors.New("it is offline"))
	synctest.Test(t, func(t *testing.T) {
		went := false
		travel := template.Movement{
			Go: func(context.Context) error { went = true; return nil },
			Look: func(context.Context) (template.CoverPosition, error) {
				if went {
					return template.CoverPosition{}, offline
				}
				return template.CoverPosition{Moving: true}, nil
			},
			Stop: func(context.Context) error { return nil },
			To:   100, Limit: time.Hour, Every: 100 * time.Millisecond, Timeout: time.Second,
		}
		if err := travel.Do(t.Context()); err == nil || errors.Is(err, drivers.ErrNothingDone) || strings.Contains(err.Error(), "nothing was done") || !strings.Contains(err.Error(), "does not report its position: it is offline") {
			t.Errorf("%v", err)
		}
		travel.Look = func(context.Context) (template.CoverPosition, error) { return template.CoverPosition{}, offline }
		if err := travel.Do(t.Context()); err == nil || err.Error() != "it is offline" || !errors.Is(err, drivers.ErrNothingDone) {
			t.Errorf("%v", err)
		}
	})
}

// halted contains the methods that the code for Halt uses.
type halted interface {
	drivers.Device
	drivers.Opener
	drivers.SafeReader
	drivers.Detacher
}

// Halt stops a cover, no matter which client moved it, and succeeds only when the cover
// stands still; until then the caller repeats it. A graceful shutdown stops a movement of
// this driver and leaves the movements of other clients alone.
func TestHaltOfCovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stops, ignores int
		var moves, away bool
		travel := template.Movement{
			Go: func(context.Context) error { moves = true; return nil },
			Look: func(context.Context) (template.CoverPosition, error) {
				if away {
					return template.CoverPosition{}, errors.New("no answer")
				}
				return template.CoverPosition{Moving: moves}, nil
			},
			Stop: func(context.Context) error { stops++; moves = moves && stops <= ignores; return nil },
			To:   100, Limit: time.Hour, Every: time.Second, Timeout: 10 * time.Second,
		}
		d := template.New("blinds", "blind", template.DefaultSettings().SwitchLevels, 20*time.Second, drivers.NewConnection("test"), template.Verbs{
			Cover: template.NewCover(travel, travel, nil),
			Read:  func(context.Context) ([]drivers.Reading, error) { return nil, nil },
		}).(halted)
		start := func(ignored int) {
			if err := d.Start(); err != nil {
				t.Fatal(err)
			}
			stops, ignores, moves = 0, ignored, false
		}
		open := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return d.Open(ctx)
		}
		wantSafe := func(what string) {
			t.Helper()
			if safe, err := d.Safe(t.Context()); err != nil || !safe || moves {
				t.Errorf("%s: safe %t, %v; the cover is moving: %t", what, safe, err, moves)
			}
		}

		start(1 << 20)
		if err := open(); !errors.Is(err, drivers.ErrMayAct) {
			t.Errorf("a cancelled move of a cover that ignores stops: %v, want ErrMayAct", err)
		}
		before := stops
		if err := d.Halt(); err == nil || stops == before {
			t.Errorf("Halt of a cover that ignores stops: %v, after %d more stops, want an error", err, stops-before)
		}
		if safe, err := d.Safe(t.Context()); safe || err != nil {
			t.Errorf("a moving cover is safe: %t, %v, want not", safe, err)
		}
		ignores = 0
		if err := d.Halt(); err != nil {
			t.Error(err)
		}
		wantSafe("halted once more")

		start(0)
		if err := d.Halt(); err != nil || stops != 0 {
			t.Errorf("Halt of a cover at rest: %d stops, %v, want none", stops, err)
		}

		start(0)
		moves = true // moved by hand
		if err := d.Detach(); err != nil || !moves {
			t.Errorf("a manually started movement: %v, continues: %t, want true", err, moves)
		}
		start(0)
		moves = true
		if err := d.Halt(); err != nil {
			t.Error(err)
		}
		wantSafe("what a hand has set moving")

		start(1 << 20)
		if err := open(); err == nil {
			t.Error("a cancelled move succeeds, want an error")
		}
		ignores = 0
		if err := d.Detach(); err != nil {
			t.Error(err)
		}
		wantSafe("what was told to move, and left")

		start(0)
		moves, away = true, true // moved by hand, and unreachable
		for range 2 {            // Halt tries to stop the cover until the cover is safe
			if err := d.Halt(); err == nil {
				t.Error("Halt of a silent cover succeeds, want an error")
			}
		}
		away = false
		if err := d.Halt(); err != nil {
			t.Error(err)
		}
		wantSafe("what answers again")
		moves = true
		if err := d.Halt(); err != nil {
			t.Error(err)
		}
		wantSafe("what a hand has set moving since it was halted")
	})
}

// A cover stands still if it reports the same position twice and no movement, because some
// devices do not report movement. A cover that may still execute an earlier command does
// not stand still.
func TestCoverAtRest(t *testing.T) {
	for name, c := range map[string]struct {
		places []template.CoverPosition
		want   bool
	}{
		"is at rest":                    {[]template.CoverPosition{{Percent: 40, Known: true}, {Percent: 40, Known: true}}, true},
		"is on its way, and reports it": {[]template.CoverPosition{{Percent: 40, Known: true, Moving: true}}, false},
		"is on its way":                 {[]template.CoverPosition{{Percent: 40, Known: true}, {Percent: 42, Known: true}}, false},
		"reports no position":           {[]template.CoverPosition{{}, {}}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			looks := 0
			travel := template.Movement{
				Go:   func(context.Context) error { return errors.New("no answer") },
				Stop: func(context.Context) error { return errors.New("no answer") },
				Look: func(context.Context) (template.CoverPosition, error) {
					looks++
					return c.places[min(looks, len(c.places))-1], nil
				},
				To: 100, Limit: time.Hour, Every: time.Second, Timeout: 10 * time.Second,
			}
			d := template.New("blinds", "blind", template.DefaultSettings().SwitchLevels, 20*time.Second, drivers.NewConnection("test"), template.Verbs{
				Cover: template.NewCover(travel, travel, nil),
				Read:  func(context.Context) ([]drivers.Reading, error) { return nil, nil },
			})
			cover := d.(interface {
				drivers.Opener
				drivers.RestReader
			})
			if is, err := cover.AtRest(t.Context()); is != c.want || err != nil {
				t.Errorf("%s: %t, %v; want %t, also of one that is halted", name, is, err, c.want)
			}
			if err := errors.Join(d.Start(), cover.Open(t.Context())); !errors.Is(err, drivers.ErrMayAct) {
				t.Fatal(err)
			}
			if is, err := cover.AtRest(t.Context()); is || c.want && !errors.Is(err, drivers.ErrMayAct) {
				t.Errorf("%s: %t, %v of one that may yet move", name, is, err)
			}
		})
	}
}

// A cover that reports only words has no position between closed and open.
func TestOpenings(t *testing.T) {
	for want, set := range map[string]func(*template.CoverPosition){
		"contact 0, opening 40": func(p *template.CoverPosition) { p.Percent, p.Known = 40, true },
		"contact 1, opening 0":  func(p *template.CoverPosition) { p.Known = true },
		"contact 0":             func(p *template.CoverPosition) { template.StateWords{Open: []string{"open"}}.Add(p, "open") },
		"contact 1":             func(p *template.CoverPosition) { template.StateWords{Closed: []string{"closed"}}.Add(p, "closed") },
	} {
		var p template.CoverPosition
		set(&p)
		list, err := template.Openings(p, time.Now())
		var texts []string
		for _, r := range list {
			texts = append(texts, fmt.Sprintf("%s %g", r.Quantity, r.Value))
		}
		if got := strings.Join(texts, ", "); err != nil || got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if list, err := template.Openings(template.CoverPosition{Known: true, Moving: true}, time.Now()); err == nil {
		t.Errorf("readings of a moving cover are %v, want an error", list)
	}
}
