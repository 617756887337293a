package thread

import (
	"context"
	"slices"
	"strings"

	"github.com/messkit/messkit/mess"
)

// Subjects says what a thread is about.
type Subjects struct {
	Capabilities []string // that it requires
	Devices      []string // as Envelope.Devices returns them
}

// SubjectReader is a store with threads that ended under an earlier release. Its feed can lack
// their subjects.
type SubjectReader interface {
	// LacksSubjects reports whether the feed lacks some.
	LacksSubjects() bool
	// ReadSubjects reads them, and calls fn with some at a time, by ref. It can take minutes. An
	// error means that the store cannot save some: the next start reads these again.
	ReadSubjects(ctx context.Context, fn func(of map[string]Subjects)) error
}

// Limits of the devices that count for a thread.
const (
	maxDevices    = 64
	maxDeviceName = 128 // bytes
)

// DeviceID returns the id of a device of an executor: EXECUTOR:DEVICE. The executor is "" if it is
// unknown.
func DeviceID(executor, device string) string { return executor + ":" + device }

// IsDeviceID reports whether s can be the id of a device with a known executor.
func IsDeviceID(s string) bool {
	at := strings.LastIndex(s, ":")
	return at > 0 && at < len(s)-1
}

// Devices returns the ids of the devices of a thread, each once: those that the request names, and
// those that the holder has said to use. While no executor has claimed a thread, a device that the
// request names without an executor has the id ":DEVICE". The list is not nil. It has at most 64
// devices, with names of at most 128 bytes.
func (e *Envelope) Devices() []string {
	ids := []string{}
	add := func(executor, device string) {
		id := DeviceID(executor, device)
		if device != "" && len(device) <= maxDeviceName && len(ids) < maxDevices && !slices.Contains(ids, id) {
			ids = append(ids, strings.Clone(id))
		}
	}
	by := e.Executor
	if e.Status == mess.Pending {
		by = ""
	}
	for _, u := range e.Uses {
		if by != "" {
			add(by, u.Device)
		}
	}
	for _, c := range e.Needs.Requires {
		meta, _ := c.Meta.(mess.Object)
		executors := meta.Texts("executor")
		switch {
		case by != "" && executors != nil && !slices.Contains(executors, by):
			continue
		case by != "" || executors == nil:
			executors = []string{by}
		}
		for _, executor := range executors {
			for _, device := range meta.Texts("devices") {
				add(executor, device)
			}
		}
	}
	return ids
}

// AddUses takes what the messages of a thread say about the devices that its last holder uses.
func (t *Thread) AddUses() {
	for _, m := range t.Messages {
		if t.Executor == "" || m.From != t.Executor {
			continue
		}
		for _, item := range m.Items {
			if s, ok := item.(*mess.Status); ok {
				if s.Code == mess.Claimed {
					t.Uses = nil
				}
				t.SetUses(s.Extra)
			}
		}
	}
}
