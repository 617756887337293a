package logformat

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// Entry is an ended thread in the log of ended threads. An entry without a status removes the
// thread.
type Entry struct {
	Seq uint64 // of its last change
	Summary
}

// BlockEntries is the number of entries in one record of the log of ended threads.
const BlockEntries = 64

// blockForm is the first byte of a block.
const blockForm = 1

// EncodeBlock encodes entries as a record of the log of ended threads.
func EncodeBlock(all []Entry) []byte {
	b := []byte{blockForm}
	for _, e := range all {
		b = e.append(b)
	}
	return b
}

func (e Entry) append(b []byte) []byte {
	b = binary.AppendUvarint(b, e.Seq)
	b = binary.AppendUvarint(b, e.Ver)
	at, err := e.Updated.MarshalBinary()
	if err != nil { // its zone has seconds
		at, _ = e.Updated.UTC().MarshalBinary()
	}
	for _, s := range []string{e.Ref, e.ClientID, e.Requester, e.Executor, string(e.Status), string(at)} {
		b = appendString(b, s)
	}
	b = binary.AppendUvarint(b, uint64(len(e.Held)))
	for _, id := range e.Held {
		b = appendString(b, id)
	}
	keys := slices.Concat(e.Keys, e.subjectsAsKeys())
	b = binary.AppendUvarint(b, uint64(len(keys)))
	for _, k := range keys {
		b = appendString(appendString(b, k.Owner), k.Name)
	}
	return b
}

// deviceMark begins a key that stands for a device. No capability has a control character.
const deviceMark = "\x00"

// subjectsAsKeys returns the required capabilities and the devices as keys without an owner, which no
// thread can have claimed. So an earlier release reads the entry, and keeps them. A key without a name
// says that the thread requires none, and deviceMark alone that it has no device. An entry of an
// earlier release has neither. A release that knows no devices takes their keys for capabilities, which
// no list asks for.
func (e Entry) subjectsAsKeys() (keys []thread.Key) {
	if e.Requires != nil && len(e.Requires) == 0 {
		keys = append(keys, thread.Key{})
	}
	for _, id := range e.Requires {
		keys = append(keys, thread.Key{Name: id})
	}
	if e.Devices != nil && len(e.Devices) == 0 {
		keys = append(keys, thread.Key{Name: deviceMark})
	}
	for _, id := range e.Devices {
		keys = append(keys, thread.Key{Name: deviceMark + id})
	}
	return keys
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// ErrBlock is the error for data that is no block.
var ErrBlock = errors.New("it is no block of ended threads")

// DecodeBlock decodes a block. name returns a shared copy of a name.
func DecodeBlock(data []byte, name func(string) string) (all []Entry, err error) {
	if len(data) == 0 || data[0] != blockForm {
		return nil, ErrBlock
	}
	r := reader{rest: string(data[1:])}
	all = make([]Entry, 0, BlockEntries)
	for r.rest != "" && len(all) < BlockEntries && !r.bad {
		all = append(all, r.entry(name))
	}
	if r.bad || r.rest != "" {
		return nil, ErrBlock
	}
	return all, nil
}

// DecodeEntry decodes the nth entry of a block.
func DecodeEntry(data []byte, n int) (e Entry, err error) {
	if len(data) == 0 || data[0] != blockForm {
		return Entry{}, ErrBlock
	}
	r := reader{rest: string(data[1:])}
	for ; n >= 0; n-- {
		e = r.entry(UnchangedName)
	}
	if r.bad {
		return Entry{}, ErrBlock
	}
	return e, nil
}

func (r *reader) entry(name func(string) string) Entry {
	e := Entry{Seq: r.number()}
	e.Ver = r.number()
	e.Ref, e.ClientID, e.Requester, e.Executor = r.text(), r.text(), name(r.text()), name(r.text())
	e.Status = mess.Code(name(r.text()))
	at := r.text()
	for n := r.number(); n > 0 && !r.bad; n-- {
		e.Held = append(e.Held, name(r.text()))
	}
	for n := r.number(); n > 0 && !r.bad; n-- {
		e.addKey(thread.Key{Owner: name(r.text()), Name: r.text()}, name)
	}
	if e.Updated.UnmarshalBinary([]byte(at)) != nil || e.Ref == "" {
		r.bad = true
	}
	return e
}

// addKey adds a key, or what subjectsAsKeys has written as one.
func (e *Entry) addKey(k thread.Key, name func(string) string) {
	device, isDevice := strings.CutPrefix(k.Name, deviceMark)
	switch {
	case k.Owner != "":
		e.Keys = append(e.Keys, k)
	case k.Name == "":
		e.Requires = []string{}
	case isDevice && device == "":
		e.Devices = []string{}
	case isDevice:
		e.Devices = append(e.Devices, name(device))
	default:
		e.Requires = append(e.Requires, name(k.Name))
	}
}

// reader reads a block from its beginning.
type reader struct {
	rest string
	bad  bool
}

func (r *reader) number() uint64 {
	var n uint64
	for i := range min(len(r.rest), binary.MaxVarintLen64) {
		c := r.rest[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.rest = r.rest[i+1:]
			return n
		}
	}
	r.bad = true
	return 0
}

func (r *reader) text() string {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.bad = true
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

// UnchangedName returns its argument.
func UnchangedName(s string) string { return s }
