package httpclient

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// all reads a stream to its end.
func all(t *testing.T, r io.Reader) ([]event, error) {
	t.Helper()
	e := newEvents(r)
	var got []event
	for {
		ev, err := e.next()
		if err != nil {
			if ev.Name != "" || ev.ID != "" || ev.Data != nil {
				t.Fatalf("%v, and %+v", err, ev)
			}
			return got, err
		}
		got = append(got, ev)
	}
}

// FuzzEvents: a stream ends with an error, and the reader drops an incomplete event. The result
// does not depend on the sizes of the pieces, and encoded events decode to the same events.
func FuzzEvents(f *testing.F) {
	f.Add([]byte(": hello\n\nid: 1\nevent: a\ndata: x\ndata: y\n\n"))
	f.Add([]byte("data\r\n\r\nid: \x00\n\n:\n"))
	f.Add([]byte("id: 7\n\ndata: {}\n\nevent: b\n\ndata:\ndata:\n\nretry: 3\n\ndata: cut"))
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, err := all(t, bytes.NewReader(data))
		pieces, _ := all(t, iotest.OneByteReader(bytes.NewReader(data)))
		if diff := cmp.Diff(whole, pieces); diff != "" || !errors.Is(err, io.EOF) {
			t.Fatal(err, diff)
		}
		again, err := all(t, bytes.NewReader(written(whole)))
		if diff := cmp.Diff(whole, again, cmpopts.EquateEmpty()); diff != "" || !errors.Is(err, io.EOF) {
			t.Fatal(err, diff)
		}
	})
}

// written encodes events as a stream.
func written(list []event) []byte {
	var b bytes.Buffer
	for _, ev := range list {
		if ev.ID == "" && ev.Name == "" && ev.Data == nil {
			b.WriteString(":\n")
			continue
		}
		b.WriteString("id: " + ev.ID + "\n")
		if ev.Name != "" {
			b.WriteString("event: " + ev.Name + "\n")
		}
		if ev.Data != nil {
			b.WriteString("data: " + strings.ReplaceAll(string(ev.Data), "\n", "\ndata: ") + "\n")
		}
		b.WriteString("\n")
	}
	return b.Bytes()
}

func TestEndlessEventIsRejected(t *testing.T) {
	for _, text := range []string{"data: " + strings.Repeat("x", maxEvent+1), strings.Repeat("data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", maxEvent/40)} {
		if _, err := newEvents(strings.NewReader(text)).next(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("got %v", err)
		}
	}
}
