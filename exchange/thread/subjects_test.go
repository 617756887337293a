package thread_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// names is a capability that names devices, and executors unless that is nil.
func names(executors any, devices ...any) mess.Capability {
	meta := mess.Object{{Key: "devices", Value: devices}}
	if executors != nil {
		meta = meta.Set("executor", executors)
	}
	return mess.Capability{ID: "switch-on", Meta: meta}
}

func TestDevicesOfThread(t *testing.T) {
	many := make([]any, 100)
	for i := range many {
		many[i] = fmt.Sprint("d", i)
	}
	for _, tt := range []struct {
		name string
		e    thread.Envelope
		want string
	}{
		{"none", thread.Envelope{Status: mess.Pending}, ""},
		{"named without an executor", thread.Envelope{Status: mess.Pending, Needs: thread.Needs{Requires: []mess.Capability{names(nil, "lamp", "lamp", 7, "")}}}, ":lamp"},
		{"named with executors", thread.Envelope{Status: mess.Pending, Needs: thread.Needs{Requires: []mess.Capability{names([]any{"vm", "pi"}, "lamp")}}}, "vm:lamp pi:lamp"},
		{"claimed", thread.Envelope{Status: mess.Claimed, Executor: "pi", Needs: thread.Needs{Requires: []mess.Capability{names(nil, "lamp"), names("vm", "gate")}}}, "pi:lamp"},
		{"offered again", thread.Envelope{Status: mess.Pending, Executor: "pi", Uses: []thread.Use{{Device: "door"}}, Needs: thread.Needs{Requires: []mess.Capability{names(nil, "lamp")}}}, ":lamp"},
		{"ended", thread.Envelope{Status: mess.Failed, Executor: "pi", Uses: []thread.Use{{Device: "door"}, {Device: "lamp"}}, Needs: thread.Needs{Requires: []mess.Capability{names("pi", "lamp")}}}, "pi:door pi:lamp"},
		{"ended without a claim", thread.Envelope{Status: mess.Cancelled, Needs: thread.Needs{Requires: []mess.Capability{names(nil, "lamp")}}}, ":lamp"},
		{"a long name", thread.Envelope{Status: mess.Pending, Needs: thread.Needs{Requires: []mess.Capability{names(nil, strings.Repeat("x", 129))}}}, ""},
	} {
		if got := tt.e.Devices(); got == nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, got, tt.want)
		}
	}
	e := thread.Envelope{Status: mess.Pending, Needs: thread.Needs{Requires: []mess.Capability{names(nil, many...)}}}
	if got := e.Devices(); len(got) != 64 {
		t.Errorf("%d devices", len(got))
	}
}

// The last holder says which devices it uses. What others say, and earlier claims, do not count.
func TestUsesInMessages(t *testing.T) {
	says := func(from string, code mess.Code, devices ...string) mess.Message {
		s := &mess.Status{Code: code}
		if devices != nil {
			list := []any{}
			for _, d := range devices {
				list = append(list, mess.Object{{Key: "device", Value: d}, {Key: "capability", Value: "c"}})
			}
			s.Extra = mess.Object{{Key: mess.UsesField, Value: list}}
		}
		return mess.Message{From: from, Items: []mess.Item{s}}
	}
	for want, messages := range map[string][]mess.Message{
		"":          {says("pi", mess.Claimed)},
		"lamp":      {says("pi", mess.Claimed, "lamp"), says("vm", mess.InProgress, "gate"), says("pi", mess.Completed)},
		"gate door": {says("pi", mess.Claimed, "lamp"), says("pi", mess.InProgress, "gate", "door")},
		"door":      {says("pi", mess.Claimed, "lamp"), says("pi", mess.InProgress), says("pi", mess.Claimed), says("pi", mess.Failed, "door")},
	} {
		one := thread.Thread{Envelope: thread.Envelope{Executor: "pi"}, Messages: messages}
		one.AddUses()
		var got []string
		for _, u := range one.Uses {
			got = append(got, u.Device)
		}
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%v, want %s", got, want)
		}
	}
}
