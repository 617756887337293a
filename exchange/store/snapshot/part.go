package snapshot

import (
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/mess"
)

// head begins each part.
const head = "messkit snapshot 1\n"

// partSize is the size from which on a part is full, in bytes.
const partSize = 4 << 20

// encoder encodes entries as a part. Names that come again, such as those of executors, are numbers then.
type encoder struct {
	data  []byte
	names map[string]uint64
	last  uint64 // position of the last entry
}

func (c *encoder) add(e *Entry) {
	if c.names == nil {
		c.data, c.names = append(c.data, head...), map[string]uint64{}
	}
	c.data = append(c.data, byte(e.form))
	c.number(e.Seq - c.last)
	c.last = e.Seq
	switch e.form {
	case endedThread:
		c.ended(&e.ended)
	case openThread:
		c.text(e.ref)
		c.text(string(e.envelope))
	case removedThread:
		c.text(e.ref)
	case document:
		c.name(e.kind)
		c.text(e.id)
		c.text(string(e.doc))
	case removedDocument:
		c.name(e.kind)
		c.text(e.id)
	}
}

func (c *encoder) ended(s *logformat.Summary) {
	c.text(s.Ref)
	c.number(s.Ver)
	c.data = binary.AppendVarint(c.data, s.Updated.Unix())
	c.number(uint64(s.Updated.Nanosecond()))
	c.name(s.Requester)
	c.name(s.Executor)
	c.name(string(s.Status))
	for _, list := range [][]string{s.Held, s.Requires, s.Devices} {
		c.number(uint64(len(list)))
		for _, name := range list {
			c.name(name)
		}
	}
}

func (c *encoder) number(n uint64) { c.data = binary.AppendUvarint(c.data, n) }

func (c *encoder) text(s string) {
	c.number(uint64(len(s)))
	c.data = append(c.data, s...)
}

func (c *encoder) name(s string) {
	n, known := c.names[s]
	if !known {
		n = uint64(len(c.names))
		c.names[strings.Clone(s)] = n
	}
	if c.number(n); !known {
		c.text(s)
	}
}

// errPart is the error for bytes that are no part.
var errPart = errors.New("a part of it is damaged")

// decode calls fn with each entry of a part. The entry and its lists are valid until fn returns; its texts
// are parts of data. It returns errPart, or the error of fn.
func decode(data string, fn func(*Entry) error) error {
	rest, ok := strings.CutPrefix(data, head)
	if !ok {
		return errPart
	}
	d := decoder{rest: rest}
	for d.rest != "" {
		d.entry()
		if d.bad {
			return errPart
		}
		if err := fn(&d.e); err != nil {
			return err
		}
	}
	return nil
}

// decoder reads a part from its beginning.
type decoder struct {
	rest  string
	bad   bool
	names []string
	e     Entry
}

func (d *decoder) entry() {
	e := &d.e
	e.form = form(d.rest[0])
	d.rest = d.rest[1:]
	step := d.number()
	if step == 0 || e.Seq+step < e.Seq {
		d.bad = true // the positions rise
	}
	e.Seq += step
	switch e.form {
	case endedThread:
		d.ended(&e.ended)
	case openThread:
		e.ref = d.text()
		e.envelope = []byte(d.text())
	case removedThread:
		e.ref = d.text()
	case document:
		e.kind, e.id = d.name(), d.text()
		e.doc = []byte(d.text())
	case removedDocument:
		e.kind, e.id = d.name(), d.text()
	default:
		d.bad = true
	}
}

func (d *decoder) ended(s *logformat.Summary) {
	s.Ref, s.Ver = d.text(), d.number()
	sec, n := binary.Varint([]byte(d.rest[:min(len(d.rest), binary.MaxVarintLen64)]))
	if n <= 0 {
		d.bad = true
		return
	}
	d.rest = d.rest[n:]
	s.Updated = time.Unix(sec, int64(d.number()%uint64(time.Second))).UTC()
	s.Requester, s.Executor, s.Status = d.name(), d.name(), mess.Code(d.name())
	for _, list := range []*[]string{&s.Held, &s.Requires, &s.Devices} {
		*list = (*list)[:0]
		for n := d.number(); n > 0 && !d.bad; n-- {
			*list = append(*list, d.name())
		}
	}
	if !s.Status.Terminal() || s.Ref == "" {
		d.bad = true
	}
}

func (d *decoder) number() uint64 {
	var n uint64
	for i := range min(len(d.rest), binary.MaxVarintLen64) {
		c := d.rest[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			d.rest = d.rest[i+1:]
			return n
		}
	}
	d.bad = true
	return 0
}

func (d *decoder) text() string {
	n := d.number()
	if n > uint64(len(d.rest)) {
		d.bad = true
		return ""
	}
	s := d.rest[:n]
	d.rest = d.rest[n:]
	return s
}

func (d *decoder) name() string {
	switch n := d.number(); {
	case n < uint64(len(d.names)):
		return d.names[n]
	case n == uint64(len(d.names)):
		s := d.text()
		d.names = append(d.names, s)
		return s
	}
	d.bad = true
	return ""
}
