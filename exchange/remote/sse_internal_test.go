package remote

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// FuzzEvents: a stream ends with an error and nothing of it is kept that was
// not whole.
func FuzzEvents(f *testing.F) {
	f.Add([]byte(": hello\n\nid: 1\nevent: a\ndata: x\ndata: y\n\n"))
	f.Add([]byte("data\r\n\r\nid: \x00\n\n:\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e := newEvents(bytes.NewReader(data))
		for n := 0; ; n++ {
			ev, err := e.next()
			if err != nil {
				if ev.Name != "" || ev.Data != nil {
					t.Fatalf("%v, and %+v", err, ev)
				}
				return
			}
			if n > len(data) || bytes.ContainsRune(ev.Data, '\r') && !bytes.Contains(data, []byte("\r")) {
				t.Fatalf("%d events of %d bytes: %+v", n, len(data), ev)
			}
		}
	})
}

func TestAnEventWithoutEndIsRefused(t *testing.T) {
	for _, text := range []string{"data: " + strings.Repeat("x", maxEvent+1), strings.Repeat("data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", maxEvent/40)} {
		if _, err := newEvents(strings.NewReader(text)).next(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("got %v", err)
		}
	}
}
