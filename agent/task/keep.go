package task

import (
	"fmt"
	"maps"
	"slices"

	"github.com/messkit/messkit/capabilities"
)

// use records that a thread plans to use the devices of a plan. It returns an error if the program
// changes one of them now.
func (t *task) use(p capabilities.Plan) error {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	var uses []string
	for _, step := range p.Each() {
		if t.all.kept[step.Device] {
			return fmt.Errorf("%s: an operator removes or changes it now; ask again in a moment", step.Device)
		}
		uses = append(uses, step.Device)
	}
	t.uses = uses
	return nil
}

// Keep keeps new threads from a device until the caller calls release, so that the program can remove
// it or replace its driver. The error names the thread that uses the device or waits for it.
func (ts *Tasks) Keep(device string) (release func(), err error) {
	open := ts.openAt(device)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, ref := range slices.Sorted(maps.Keys(ts.byRef)) {
		if open == "" && slices.Contains(ts.byRef[ref].uses, device) {
			open = ref
		}
	}
	switch {
	case open != "":
		return nil, fmt.Errorf("%s: the task %s uses it or waits for it; cancel the task, or wait for its end", device, open)
	case ts.watched[device] > 0:
		return nil, fmt.Errorf("%s: it has not answered a command, which may still arrive; wait a minute, and try again", device)
	case ts.kept[device]:
		return nil, fmt.Errorf("%s: another operator changes it now; try again in a moment", device)
	}
	ts.kept[device] = true
	return func() {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		delete(ts.kept, device)
	}, nil
}

// openAt returns the thread of an unfinished plan for a device, "" if there is none.
func (ts *Tasks) openAt(device string) string {
	for _, t := range ts.Journal.Tasks() {
		if ref := DevicesOf(t)[device]; ref != "" && t.Open() {
			return ref
		}
	}
	return ""
}

// watch counts a watch for late acts of a device until the caller calls end.
func (ts *Tasks) watch(device string) (end func()) {
	count := func(n int) {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		if ts.watched[device] += n; ts.watched[device] == 0 {
			delete(ts.watched, device)
		}
	}
	count(1)
	return func() { count(-1) }
}
