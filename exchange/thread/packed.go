package thread

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/messkit/messkit/mess"
)

// Packed is an envelope in a compact form, for callers that keep many. The zero value is that of
// the empty envelope.
type Packed struct {
	fields string
	needs  *Needs // only needs with metadata or coordinates; the others are in fields
}

// Pack returns the compact form of e. It shares no list with e.
func Pack(e *Envelope) Packed {
	c := packer{writes: true}
	c.envelope(e)
	p := Packed{fields: string(c.out)}
	if !e.Needs.isPlain() {
		p.needs = new(e.Needs)
	}
	return p
}

// Envelope returns the envelope. All its texts are parts of one string, so a text that outlives
// the others should be a clone.
func (p Packed) Envelope() (e Envelope) {
	if p.fields == "" {
		return e
	}
	c := packer{in: p.fields}
	c.envelope(&e)
	if p.needs != nil {
		e.Needs = *p.needs
	}
	return e
}

// isPlain reports whether the needs have no metadata, and a location at most by name.
func (n *Needs) isPlain() bool {
	return !slices.ContainsFunc(n.Requires, func(c mess.Capability) bool { return c.Meta != nil }) &&
		(n.Location == nil || n.Location.Name != "" && n.Location.Extra == nil)
}

// packer visits the fields of an envelope, and writes each of them to out or reads it from in. So
// one list of the fields serves both.
type packer struct {
	writes bool
	out    []byte
	in     string
	last   time.Time // the last time that is not zero; many times are equal to it
}

func (c *packer) envelope(e *Envelope) {
	packText(c, &e.Ref, &e.ClientID, &e.Requester, &e.Executor, &e.Intent, &e.Op, &e.Instance, &e.Effect, &e.BegunBy, &e.CancelBy, &e.DelegatedTo, &e.Trace)
	packText(c, &e.Status, &e.HeldFrom)
	packText(c, &e.Priority)
	packText(c, &e.Phase)
	packText(c, &e.Rev)
	for _, t := range []*time.Time{&e.Created, &e.Updated, &e.NotBefore, &e.Expires} {
		c.time(t)
	}
	packNumber(c, &e.Ver)
	packNumber(c, &e.Epoch)
	packNumber(c, &e.Attempts)
	packNumber(c, &e.Estimate)
	packNumber(c, &e.Serial)
	packNumber(c, &e.Stops)
	c.flag(&e.Stopped)
	packList(c, &e.History, func(h *HistoryEntry) {
		packText(c, &h.Action, &h.By, &h.Ref, &h.Note)
		c.time(&h.At)
	})
	packList(c, &e.Questions, func(q *OpenQuestion) { packText(c, &q.Key, &q.Message) })
	packPointer(c, &e.Confirm, c.confirm)
	packList(c, &e.Declined, func(d *Decline) {
		packText(c, &d.Executor, &d.Reason)
		c.flag(&d.Barred)
	})
	packList(c, &e.Seen, func(s *ProcessedMessage) { packText(c, &s.From, &s.ID, &s.Ref) })
	packList(c, &e.Proposals, func(p *Proposal) {
		packText(c, &p.ID, &p.Message, &p.Type, &p.To)
		c.time(&p.Until)
	})
	packList(c, &e.DependsOn, func(s *string) { packText(c, s) })
	c.needs(&e.Needs)
	packList(c, &e.Uses, func(u *Use) { packText(c, &u.Device, &u.Capability) })
}

func (c *packer) confirm(q *Confirm) {
	packText(c, &q.Message, &q.ActionHash, &q.By, &q.GivenBy)
	packNumber(c, &q.Epoch)
	packPointer(c, &q.Given, c.flag)
	packList(c, &q.Earlier, func(p *PastConfirmation) {
		packText(c, &p.Message, &p.ActionHash)
		packPointer(c, &p.Given, c.flag)
	})
}

func (c *packer) needs(n *Needs) {
	if c.writes && !n.isPlain() {
		n = &Needs{}
	}
	packList(c, &n.Requires, func(m *mess.Capability) { packText(c, &m.ID) })
	packPointer(c, &n.Location, func(a *mess.TargetArea) { packText(c, &a.Name) })
	packText(c, &n.Urgency)
	packText(c, &n.Precision)
	c.flag(&n.ConfirmBefore)
	packNumber(c, &n.BeginWithin)
	packNumber(c, &n.DecideWithin)
}

func packNumber[N ~int | ~int64 | ~uint64](c *packer, n *N) {
	if c.writes {
		c.out = binary.AppendUvarint(c.out, uint64(*n))
		return
	}
	var v uint64
	for shift := 0; ; shift += 7 {
		b := c.in[0]
		c.in = c.in[1:]
		if v |= uint64(b&0x7f) << shift; b < 0x80 {
			break
		}
	}
	*n = N(v)
}

func packText[S ~string](c *packer, texts ...*S) {
	for _, s := range texts {
		n := len(*s)
		if packNumber(c, &n); c.writes {
			c.out = append(c.out, *s...)
		} else {
			*s, c.in = S(c.in[:n]), c.in[n:]
		}
	}
}

func packList[T any](c *packer, list *[]T, one func(*T)) {
	n := len(*list)
	if packNumber(c, &n); !c.writes && n > 0 {
		*list = make([]T, n)
	}
	for i := range *list {
		one(&(*list)[i])
	}
}

func packPointer[T any](c *packer, p **T, one func(*T)) {
	is := *p != nil
	if c.flag(&is); !is {
		return
	}
	if !c.writes {
		*p = new(T)
	}
	one(*p)
}

func (c *packer) flag(b *bool) {
	n := 0
	if *b {
		n = 1
	}
	if packNumber(c, &n); !c.writes { // others may read what is packed
		*b = n == 1
	}
}

// The forms of a time, and the zones of a new one. Other zones are seconds east of UTC.
const (
	zeroTime = iota
	lastTime
	newTime

	utc   = 1 << 20
	local = utc + 1
)

// time keeps the moment and the offset from UTC. It drops the monotonic clock reading and the name
// of the zone, as JSON does.
func (c *packer) time(t *time.Time) {
	form, zone, sec, nano := newTime, utc, t.Unix(), t.Nanosecond()
	switch {
	case t.IsZero():
		form = zeroTime
	case t.Equal(c.last) && t.Location() == c.last.Location():
		form = lastTime
	case t.Location() == time.Local:
		zone = local
	case t.Location() != time.UTC:
		_, zone = t.Zone()
	}
	if packNumber(c, &form); form == newTime {
		packNumber(c, &zone)
		packNumber(c, &sec)
		packNumber(c, &nano)
		if !c.writes {
			c.last = moment(sec, nano, zone)
		} else {
			c.last = *t
		}
	}
	if !c.writes && form != zeroTime {
		*t = c.last
	}
}

func moment(sec int64, nano, zone int) time.Time {
	t := time.Unix(sec, int64(nano))
	switch zone {
	case utc:
		return t.UTC()
	case local:
		return t
	}
	return t.In(time.FixedZone("", zone))
}
