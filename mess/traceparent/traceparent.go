// Package traceparent reads and writes the trace context of the W3C (Trace Context, level 1, section
// 3.2): a request has the id of its trace, and the id of the span that has caused it.
package traceparent

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/messkit/messkit/mess"
)

// Field is the field of a message with its trace context, and Header that of an HTTP request. Unknown
// fields of a message reach its readers, so executors of other makers can have it too.
const (
	Field  = "traceparent"
	Header = "Traceparent"
)

// Context is a trace context.
type Context struct {
	Trace   [16]byte
	Span    [8]byte
	Sampled bool // the sender records its span
}

// Lengths of the text of version 00.
const (
	traceAt, spanAt, flagsAt = 3, 36, 53
	length                   = 55
)

// Parse reads a text such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01. ok is false for
// every other text, which a receiver ignores (section 4.3). A later version may have more fields
// behind, which Parse ignores.
func Parse(text string) (c Context, ok bool) {
	if len(text) < length || text[2] != '-' || text[spanAt-1] != '-' || text[flagsAt-1] != '-' || strings.ToLower(text) != text {
		return c, false
	}
	var version, flags [1]byte
	for _, f := range []struct {
		to         []byte
		first, end int
	}{{version[:], 0, 2}, {c.Trace[:], traceAt, spanAt - 1}, {c.Span[:], spanAt, flagsAt - 1}, {flags[:], flagsAt, length}} {
		if _, err := hex.Decode(f.to, []byte(text[f.first:f.end])); err != nil {
			return Context{}, false
		}
	}
	longer := len(text) > length
	if version[0] == 0xff || version[0] == 0 && longer || longer && text[length] != '-' || c.Trace == [16]byte{} || c.Span == [8]byte{} {
		return Context{}, false
	}
	c.Sampled = flags[0]&1 != 0
	return c, true
}

// String writes the text of version 00.
func (c Context) String() string {
	flags := "-00"
	if c.Sampled {
		flags = "-01"
	}
	return "00-" + hex.EncodeToString(c.Trace[:]) + "-" + hex.EncodeToString(c.Span[:]) + flags
}

// Of returns the trace context of a message in the form of version 00, or "".
func Of(m mess.Message) string {
	c, ok := Parse(m.Extra.Text(Field))
	if !ok {
		return ""
	}
	return c.String()
}

// With returns a message with a trace context. It does not change m.
func With(m mess.Message, text string) mess.Message {
	m.Extra = append(mess.Object(nil), m.Extra...).Set(Field, text)
	return m
}

// New returns a context for a trace that begins here, with a random id. Its span is that of Root.
func New(trace [16]byte) Context {
	c := Context{Trace: trace, Sampled: true}
	c.Span = SpanID(c, "")
	return c
}

// Root returns the span of a request with a ref in a trace, and its parent: the span of the client, or
// zero if the exchange has begun the trace. Each program that knows both computes the same.
func Root(c Context, ref string) (id, parent [8]byte) {
	if own := SpanID(c, ""); c.Span == own {
		return own, parent
	}
	return SpanID(c, "request "+ref), c.Span
}

// SpanID returns the id of a part of a trace, which its name identifies.
func SpanID(c Context, name string) (id [8]byte) {
	sum := sha256.Sum256(append(c.Trace[:], name...))
	copy(id[:], sum[:])
	return id
}
