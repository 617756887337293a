// Package messeaf holds the words of MESSE-AF 2.1, the file format of threads:
// envelopes, documents, names and folders; it parses what others write, of
// either version, and prints what the specification shows.
//
// It is pure: files come through io/fs, and it knows no exchange.
package messeaf

import (
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
)

// Envelope is the first document of a thread (section "Envelope Fields").
type Envelope struct {
	Ref       string        `mess:"ref"`
	ClientID  string        `mess:"client_id"` // the requester's own id, "" if none was given
	Requestor string        `mess:"requestor"`
	Executor  string        `mess:"executor"` // "" while nobody has claimed
	Status    mess.Code     `mess:"status"`
	Created   mess.Time     `mess:"created"`
	Updated   mess.Time     `mess:"updated"`
	Expires   mess.Time     `mess:"expires"` // "" if never
	Intent    string        `mess:"intent"`
	Priority  mess.Priority `mess:"priority"`
	Extra     mess.Object   `mess:"*"` // what other writers put there
	History   []Entry       `mess:"history"`
}

// Entry is one change of state (section "History Log").
type Entry struct {
	Action string      `mess:"action"` // created, dispatched, replied, or a status code
	At     mess.Time   `mess:"at"`
	By     string      `mess:"by"`
	Ref    string      `mess:"ref"` // of the message that caused it, "" for acks
	Note   string      `mess:"note"`
	Extra  mess.Object `mess:"*"`
}

// Thread is an envelope and its messages in order. Messages bear the refs that
// they have in the thread; acks and the requests at its start have none.
type Thread struct {
	Envelope Envelope
	Messages []mess.Message
}

// Size limits (section "Size Limits"), in bytes.
const (
	MaxFile   = 1 << 20   // of a thread's file, unless one document alone is larger
	MaxInline = 768 << 10 // of an attachment inside a document, decoded
)

// Folder is one of the folders that a thread is in, by its status.
type Folder string

// The folders (section "Folder Mapping").
const (
	Received  Folder = "state=received"
	Executing Folder = "state=executing"
	Finished  Folder = "state=finished"
	Canceled  Folder = "state=canceled"
)

// Folders lists them in the order in which a thread goes through them.
var Folders = []Folder{Received, Executing, Finished, Canceled}

// FolderOf is the folder that a status belongs to. A status that is not in the
// specification belongs with what is being worked on: it was claimed, and
// nobody has said that it ended.
func FolderOf(c mess.Code) Folder {
	switch c {
	case mess.Pending, mess.Received:
		return Received
	case mess.Completed, mess.Partial:
		return Finished
	case mess.Cancelled, mess.Failed, mess.Declined, mess.Expired, mess.Delegated, mess.Superseded:
		return Canceled
	}
	return Executing
}

// Time reads a time as any writer puts it: RFC 3339 with an offset or without
// one (then it is UTC). It reports false for what is no time.
func Time(t mess.Time) (time.Time, bool) {
	if at, err := t.Time(); err == nil {
		return at, true
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", time.DateOnly} {
		if at, err := time.Parse(layout, string(t)); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// IsAck reports whether a message is an ack of the exchange, which has neither
// serial nor ref (section "Acks Are System Messages").
func IsAck(m mess.Message) bool {
	return len(m.Items) > 0 && !slices.ContainsFunc(m.Items, func(i mess.Item) bool { return i.Kind() != mess.KindAck })
}

// IsRequest reports whether a message makes a thread.
func IsRequest(m mess.Message) bool {
	return slices.ContainsFunc(m.Items, func(i mess.Item) bool { return i.Kind() == mess.KindRequest })
}

// Numbered reports whether a message has a serial and a ref in its thread: acks
// and requests have none.
func Numbered(m mess.Message) bool { return !IsAck(m) && !IsRequest(m) }

// Number gives the messages of a thread their refs, which follow from their
// order (section "Message References"), and returns the last serial.
func Number(thread string, all []mess.Message) (serial int) {
	for i := range all {
		all[i].Ref = ""
		if !Numbered(all[i]) {
			continue
		}
		serial++
		all[i].Ref = MessageRef(thread, serial, all[i])
	}
	return serial
}

// Fingerprint tells messages of one thread apart by who said what, without what
// the exchange adds to them or moves: a message has the same one when another
// writer has printed it anew.
func Fingerprint(m mess.Message) string {
	var b strings.Builder
	b.WriteString(m.From)
	for _, item := range (mess.Message{Items: m.Items}).Document().Get("MESS").List {
		for i, p := range item.Pairs {
			if p.Key != string(mess.KindAck) && p.Value.Kind == strictyaml.Map {
				one := *p.Value
				one.Pairs = slices.DeleteFunc(slices.Clone(one.Pairs), func(f strictyaml.Pair) bool { return f.Key == "re" })
				item.Pairs[i].Value = &one
			}
		}
		b.WriteByte('\n')
		b.Write(strictyaml.JSON(item))
	}
	sum := sha256.Sum256([]byte(b.String()))
	return string(sum[:16])
}
