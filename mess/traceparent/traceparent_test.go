package traceparent_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/traceparent"
)

const example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// The cases are those of the specification and of its test suite.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		example:                      example,
		example[:53] + "00":          example[:53] + "00",
		example[:53] + "ff":          example, // unknown flags are ignored
		"cc" + example[2:]:           example, // a later version
		"cc" + example[2:] + "-what": example, // with more fields
		"cc" + example[2:] + ".what": "",      // which begin with a dash
		example + "-what":            "",      // version 00 has no more
		"ff" + example[2:]:           "",      // no version
		strings.ToUpper(example):     "",      // capitals
		example[:54]:                 "",      // too short
		"00-" + strings.Repeat("0", 32) + example[35:]:        "", // no trace
		example[:36] + strings.Repeat("0", 16) + example[52:]: "", // no span
		strings.Replace(example, "-", "_", 1):                 "",
		strings.Replace(example, "4bf9", "4bg9", 1):           "",
		" " + example: "",
		"":            "",
	} {
		c, ok := traceparent.Parse(text)
		got := ""
		if ok {
			got = c.String()
		}
		if got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

// A message with a trace context does not share it with the message that it was made of.
func TestMessage(t *testing.T) {
	m, err := mess.Parse([]byte("traceparent: " + example + "\nother: x\nMESS:\n- request: {intent: look}\n"))
	if err != nil || traceparent.Of(m) != example {
		t.Fatalf("%v, %q", err, traceparent.Of(m))
	}
	other := "00-11111111111111111111111111111111-2222222222222222-00"
	if n := traceparent.With(m, other); traceparent.Of(n) != other || traceparent.Of(m) != example || n.Extra.Text("other") != "x" {
		t.Errorf("%q, %q", traceparent.Of(n), traceparent.Of(m))
	}
	if n := traceparent.With(mess.Message{}, "nonsense"); traceparent.Of(n) != "" {
		t.Errorf("nonsense is %q", traceparent.Of(n))
	}
}

// FuzzParse checks that every accepted text has the form of the specification, and that its own form
// is read as the same context.
func FuzzParse(f *testing.F) {
	f.Add(example)
	f.Add("cc" + example[2:] + "-x")
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := traceparent.Parse(text)
		if !ok {
			if c != (traceparent.Context{}) {
				t.Errorf("a refused text gives %v", c)
			}
			return
		}
		if again, ok := traceparent.Parse(c.String()); !ok || again != c {
			t.Errorf("%q becomes %q, which is another one", text, c)
		}
		if c.String()[2:53] != text[2:53] {
			t.Errorf("%q becomes %q", text, c)
		}
	})
}

// A trace that begins here has its request as the first span. In the trace of a client, the request has
// the span of the client as its parent, and each request an id of its own.
func TestRoot(t *testing.T) {
	own := traceparent.New([16]byte{7})
	if c, ok := traceparent.Parse(own.String()); !ok || c != own || !c.Sampled {
		t.Errorf("%q is read as %+v", own, c)
	}
	if id, parent := traceparent.Root(own, "a"); id != own.Span || parent != [8]byte{} {
		t.Errorf("the request of an own trace is %x below %x", id, parent)
	}
	client, _ := traceparent.Parse(example)
	first, parent := traceparent.Root(client, "a")
	second, _ := traceparent.Root(client, "b")
	if first == second || first == client.Span || parent != client.Span {
		t.Errorf("two requests are %x and %x below %x", first, second, parent)
	}
	if traceparent.SpanID(client, "x") == traceparent.SpanID(own, "x") {
		t.Error("two traces have the same span")
	}
}
