package mqttdevice_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
)

// patient returns a configuration with a long timeout for a busy host.
func patient(b *broker, name string) string {
	return strings.Replace(config(b, name), "timeout: 2s", "timeout: 30s", 1)
}

func covers() (names []string) {
	for name := range families {
		if strings.HasSuffix(name, "-cover") {
			names = append(names, name)
		}
	}
	return names
}

func TestCoversConform(t *testing.T) {
	for _, name := range covers() {
		t.Run(name, func(t *testing.T) {
			if name != "shelly-gen2-cover" && (name != "esphome-cover" || testing.Short()) {
				t.Skip("one device that answers questions and one that does not are enough; the other tests have all")
			}
			b := newBroker(t, nil)
			f := b.device(t, families[name].device)
			drivertest.Run(t, func(t *testing.T) drivers.Device {
				d, err := open(patient(b, name))
				if err != nil {
					t.Fatal(err)
				}
				return d
			}, drivertest.Acts(f.count))
			if len(b.retained) != 0 {
				t.Errorf("commands were sent to be kept, and would act again: %q", b.retained)
			}
		})
	}
}

type roller interface {
	drivers.Positioner
	drivers.Stopper
	drivers.OpeningReader
}

// After a successful movement the simulator has the requested position, and so do the
// readings.
func TestCoversReachTheirTargets(t *testing.T) {
	for _, name := range covers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // these tests mostly wait
			b := newBroker(t, nil)
			f := b.device(t, families[name].device)
			d := started(t, patient(b, name)).(roller)
			for _, want := range []float64{30, 100, 65, 0} {
				call := func(ctx context.Context) error { return d.OpenTo(ctx, want) }
				switch want {
				case 100:
					call = d.Open
				case 0:
					call = d.Close
				}
				if err := call(t.Context()); err != nil {
					t.Fatalf("to %v: %v", want, err)
				}
				is, direction := f.cover.is()
				if direction != 0 || math.Abs(is-want) > drivers.OpeningTolerance {
					t.Errorf("done at %v, but it moves by %d at %v", want, direction, is)
				}
				if reported, err := d.Opening(t.Context()); err != nil || math.Abs(reported-is) > 1 {
					t.Errorf("Opening = %v, %v; the position is %v", reported, err, is)
				}
			}
		})
	}
}

// Another request stops a moving cover, and the task of the cover reports that. A cover
// without a task stops, too.
func TestStopMovingCovers(t *testing.T) {
	for _, name := range covers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // these tests mostly wait
			b := newBroker(t, nil)
			f := b.device(t, families[name].device)
			d := started(t, patient(b, name)).(roller)
			task := make(chan error, 1)
			stop := func() error {
				go func() { task <- d.Open(t.Context()) }()
				underWay(t, f)
				if err := errors.Join(second(d.Stop(t.Context()))); err != nil {
					t.Fatal(err)
				}
				return <-task
			}
			err := stop()
			for tries := 0; errors.Is(err, drivers.ErrMayAct) && tries < 20; tries++ { // the cover moved before the broker acknowledged the command
				if err := d.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				err = stop()
			}
			if !errors.Is(err, drivers.ErrStopped) {
				t.Errorf("error of the stopped task is %v, want ErrStopped", err)
			}
			if _, direction := f.cover.is(); direction != 0 {
				t.Error("the cover moves after Stop")
			}
			if err := d.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() { task <- d.Open(ctx) }()
			underWay(t, f)
			cancel()
			if err := <-task; !errors.Is(err, context.Canceled) {
				t.Errorf("error of the cancelled task is %v, want Canceled", err)
			}
			waitForStop(t, f)
			if n := f.cover.halts(); n < 2 {
				t.Errorf("%d stops, want at least 2", n)
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

// underWay waits until the cover moves.
func underWay(t *testing.T, f *fake) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
		if percent, direction := f.cover.is(); direction != 0 && percent > 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the cover does not begin to move")
		}
	}
}

// waitForStop waits until the cover has received the stop command, before it reaches its end.
func waitForStop(t *testing.T, f *fake) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
		percent, direction := f.cover.is()
		if direction == 0 && percent < 100 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the cover moves after its task: at %v by %d", percent, direction)
		}
	}
}

// A cover that stops elsewhere or does not start is an error.
func TestStuckCovers(t *testing.T) {
	for _, name := range covers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t, nil)
			f := b.device(t, families[name].device)
			d := started(t, patient(b, name)).(roller)
			f.cover.mu.Lock()
			f.cover.jammed = 40
			f.cover.mu.Unlock()
			if err := d.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "stands still at 40 %") || errors.Is(err, drivers.ErrNothingDone) {
				t.Errorf("%s: error of a jammed cover is %v", name, err)
			}
			f.mu.Lock()
			f.wrong = true
			f.mu.Unlock()
			if err := d.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "the cover stands still at 40 %") {
				t.Errorf("%s: error of a cover that does nothing is %v", name, err)
			}
		})
	}
}

// An offline cover gets no command.
func TestOfflineCovers(t *testing.T) {
	for _, name := range covers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t, nil)
			f := b.device(t, families[name].device)
			d := started(t, patient(b, name)).(roller)
			f.online(f, false)
			if err := d.Open(t.Context()); !errors.Is(err, drivers.ErrNothingDone) || f.count() != 0 {
				t.Errorf("%s: %v, and it has acted %d times", name, err, f.count())
			}
		})
	}
}
