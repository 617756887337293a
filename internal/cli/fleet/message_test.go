package fleet_test

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/cli/fleet"
)

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"from":"r1","re":"2026-11-28-001","MESS":[{"v":"1.1.0"},{"request":{"intent":"x"}}]}`))
	f.Add([]byte(`{"re":["a","b"],"MESS":[{"ack":{"ref":"a/claim-001","status":"claimed"}}]}`))
	f.Add([]byte(`{"kind":"message","thread":{"ref":"a","status":"claimed"},"message":{}}`))
	f.Add([]byte(`{"MESS":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, ok := fleet.Parse(data); !ok && (s.Re != nil || s.Items != nil) {
			t.Errorf("%q is no message, and yet %+v", data, s)
		}
		_, _ = fleet.ParseEvent(data) // it does not crash
	})
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(": hello\n\nid: a-1\nevent: message\ndata: {}\n\n"))
	f.Add([]byte("data: x\r\ndata:y\r\n\r\n"))
	f.Add([]byte("id"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReader(bytes.NewReader(data))
		for n := 0; ; n++ {
			e, err := fleet.ReadEvent(r)
			if err != nil {
				if got := e; got.Name() != "" || got.ID() != "" {
					t.Errorf("%q: an event that is not whole is %+v", data, e)
				}
				return
			}
			if n > len(data) {
				t.Fatalf("%q has more events than bytes", data)
			}
		}
	})
}

func TestEvents(t *testing.T) {
	r := bufio.NewReader(strings.NewReader(": hello\n\nid: a-1\nevent: message\ndata: {\"re\":\"x\",\ndata: \"MESS\":[]}\n\n"))
	if e, err := fleet.ReadEvent(r); err != nil || e.Name() != "" {
		t.Errorf("a comment: %+v, %v", e, err)
	}
	if e, err := fleet.ReadEvent(r); err != nil || e.Name() != "message" || e.ID() != "a-1" || string(e.Data()) != `{"re":"x","MESS":[]}` {
		t.Errorf("%+v, %v", e, err)
	}
}
