package agent_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/drivers"
)

// farPlug takes a second to start, as a device in the network.
type farPlug struct {
	fakeDevice
	now, most *atomic.Int64
}

func (r *farPlug) Start() error {
	n := r.now.Add(1)
	defer r.now.Add(-1)
	for most := r.most.Load(); n > most && !r.most.CompareAndSwap(most, n); most = r.most.Load() {
		continue
	}
	time.Sleep(time.Second) // fake time
	return nil
}

// wiredDevice is a device of this machine.
type wiredDevice struct {
	fakeDevice
	began time.Time
}

func (w *wiredDevice) WatchdogCommands() drivers.WatchdogCommands { return drivers.WatchdogCommands{} }

func (w *wiredDevice) Start() error { w.began = time.Now(); return nil }

// For any number of slow network devices, the devices of this machine do not wait, and the
// number of simultaneous starts has a limit.
func TestWiredDevicesStartFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3000
		var now, most atomic.Int64
		devices := make([]device.Device, n)
		var lines []*wiredDevice
		for i := range devices {
			devices[i] = device.Device{Name: string(rune('a'+i%26)) + time.Duration(i).String(), Driver: &farPlug{now: &now, most: &most}}
			if i%100 == 99 {
				lines = append(lines, &wiredDevice{})
				devices[i].Driver = lines[len(lines)-1]
			}
		}
		began := time.Now()
		device.Start(t.Context(), policy.New(settings.DefaultConfig(), time.Now, quiet()), devices, quiet())
		for i, l := range lines {
			if !l.began.Equal(began) {
				t.Errorf("line %d has started after %v", i, l.began.Sub(began))
			}
		}
		if took := time.Since(began); took > 3*time.Second || most.Load() > 1024 {
			t.Errorf("all have started after %v, %d at the same time", took, most.Load())
		}
	})
}
