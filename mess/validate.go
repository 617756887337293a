package mess

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/messkit/messkit/internal/ascii"
)

// Validate returns all errors in the message, as Problems with paths. It accepts unknown
// fields, unknown content and unknown message types, which the specification allows.
func (m Message) Validate() error { return m.problems().Err() }

func (m Message) problems() Problems {
	c := checker{re: len(m.Re) > 0}
	c.refs("re", m.Re)
	if m.Version != "" && !version.MatchString(m.Version) {
		c.fail("", "v: %.20q is not a version this program speaks; use 1.0.0 or 1.1.0", m.Version)
	}
	if len(m.Items) == 0 {
		c.fail("", "the message is empty; add an item such as request")
	}
	for i, item := range m.Items {
		c.item(fmt.Sprintf("[%d].%s", i, item.Kind()), item)
	}
	return c.problems
}

// version matches any version of MESS 1 (1.1 section 5.1: minor versions degrade).
var version = regexp.MustCompile(`^1(\.[0-9]{1,4}){0,2}$`)

// checker collects problems.
type checker struct {
	problems Problems
	re       bool // the message has a reference for all items
}

func (c *checker) fail(path, format string, args ...any) {
	c.problems = append(c.problems, Problem{Path: path, Text: fmt.Sprintf(format, args...)})
}

// failIf records an error of a value.
func (c *checker) failIf(path string, err error) {
	if err != nil {
		c.fail(path, "%v", err)
	}
}

func (c *checker) item(path string, item Item) {
	switch i := item.(type) {
	case *Request:
		c.request(path, i)
	case *Reply:
		c.reply(path, i)
	case *Answer:
		c.about(path, i.Re, i.ID)
		if i.Value == nil {
			c.fail(path, "value is missing; write the answer there")
		}
	case *Cancel:
		c.about(path, i.Re, i.ID)
	case *Query:
		c.query(path, i)
	case *Config:
		c.config(path, i)
	case *Ack:
		c.ack(path, i)
	case *Status:
		c.status(path, i)
	case *Response:
		c.response(path, i)
	case *Suggestion:
		c.suggestion(path, i)
	case *Other:
		if strings.TrimSpace(string(i.Type)) == "" {
			c.fail(path, "a message type is missing; write request, status, ...")
		}
	}
}

// about checks the reference of an item, or of its message.
func (c *checker) about(path string, re Refs, id string) {
	c.refs(path+".re", re)
	c.id(path+".id", id)
	if len(re) == 0 && !c.re {
		c.fail(path, "re is missing; write a reference (a ref, a request's id, or last)")
	}
}

func (c *checker) refs(path string, refs Refs) {
	for i, r := range refs {
		at := path
		if len(refs) > 1 {
			at = fmt.Sprintf("%s[%d]", path, i)
		}
		if !ValidRef(r) {
			c.fail(at, "%.60q cannot be a reference; write a ref or an id, at most %d bytes", r, maxRef)
		}
	}
}

func (c *checker) id(path, id string) {
	if id != "" && !ValidRef(id) {
		c.fail(path, "%.60q cannot be an id; use letters, digits and -, at most %d bytes", id, maxRef)
	}
}

// oneOf checks a keyword; "" is the default.
func oneOf[S ~string](c *checker, path string, word S, known ...S) {
	if word == "" || slices.Contains(known, word) {
		return
	}
	list := make([]string, len(known))
	for i, k := range known {
		list[i] = string(k)
	}
	c.fail(path, "%.60q is unknown; write one of: %s", string(word), strings.Join(list, ", "))
}

func (c *checker) time(path string, t Time) {
	if t != "" {
		_, err := t.Time()
		c.failIf(path, err)
	}
}

// checkTime checks a time that a request depends on. It rejects the zero time, because one
// reader would treat year 1 as absent, and another as past.
func (c *checker) checkTime(path string, t Time) {
	c.time(path, t)
	c.notZero(path, t)
}

func (c *checker) notZero(path string, t Time) {
	if at, err := t.Time(); err == nil && at.IsZero() {
		c.fail(path, "%s is the zero time; omit the field for no time", t)
	}
}

func (c *checker) duration(path string, d Duration) {
	if d != "" {
		_, err := d.Duration()
		c.failIf(path, err)
	}
}

// clock matches a time of day, which 1.1 section 2.1 allows for eta.
var clock = regexp.MustCompile(`^[0-2]?[0-9]:[0-5][0-9](:[0-5][0-9])?$`)

func (c *checker) when(path string, w TimeOrDuration) {
	if w == "" || clock.MatchString(string(w)) {
		return
	}
	if _, err := Duration(w).Duration(); err == nil {
		return
	}
	if _, err := Time(w).Time(); err != nil {
		c.fail(path, "%.60q is neither a time nor a duration; write it like 2026-02-08T23:00:00-08:00 or 45m", string(w))
	}
}

// within checks an optional number.
func (c *checker) within(path string, f *float64, low, high float64) {
	if f != nil && (*f < low || *f > high) {
		c.fail(path, "%v is out of range; write %v to %v", *f, low, high)
	}
}

func (c *checker) needs(path string, there bool, what string) {
	if !there {
		c.fail(path, "%s is missing", what)
	}
}

func (c *checker) capabilities(path string, list []Capability) {
	for i, one := range list {
		if strings.TrimSpace(one.ID) == "" || !ValidRef(one.ID) {
			c.fail(fmt.Sprintf("%s[%d]", path, i), "%.60q cannot be a capability; write an id such as take-photo", one.ID)
		}
	}
}

// ValidID reports whether s can be the id of an actor, an exchange or an executor: letters,
// digits and . _ : @ -, beginning with a letter or digit, at most 128 characters. Owners
// choose ids, which become part of file names, URLs and topics, so spaces, slashes and
// wildcards are invalid.
func ValidID(s string) bool { return ascii.Name(s, 128, "._:@-") && !strings.Contains(s, "..") }

// maxRef is the size limit for a reference in bytes.
const maxRef = 256

// ValidRef reports whether s can refer to a thread, a message or a request. It does not
// check whether that exists.
func ValidRef(s string) bool {
	return s != "" && len(s) <= maxRef && utf8.ValidString(s) && strings.TrimSpace(s) == s &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' })
}

// ParseCode parses a status code, in the spelling of the specification or of other
// implementations (in-progress, needs-input, rejected).
func ParseCode(s string) (Code, error) {
	c := Code(strings.ReplaceAll(s, "-", "_"))
	switch {
	case c == "rejected":
		return Declined, nil
	case c == "canceled":
		return Cancelled, nil
	case c == Received || c.Known():
		return c, nil
	}
	return "", fmt.Errorf("%.60q is not a status; known: %s", s, join(codes()))
}
