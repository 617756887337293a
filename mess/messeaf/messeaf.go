// Package messeaf implements MESSE-AF 2.1, the file format of threads: envelopes,
// documents, names and folders. It parses files of other implementations, in both versions,
// and prints the form of the specification.
//
// It is pure: it reads files through io/fs, and knows no exchange.
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
	ClientID  string        `mess:"client_id"` // id that the requester gave the request; "" if none
	Requester string        `mess:"requestor"`
	Executor  string        `mess:"executor"` // "" before a claim
	Status    mess.Code     `mess:"status"`
	Created   mess.Time     `mess:"created"`
	Updated   mess.Time     `mess:"updated"`
	Expires   mess.Time     `mess:"expires"` // "" for never
	Intent    string        `mess:"intent"`
	Priority  mess.Priority `mess:"priority"`
	Extra     mess.Object   `mess:"*"` // fields of other implementations
	History   []Entry       `mess:"history"`
}

// Entry is one state change (section "History Log").
type Entry struct {
	Action string      `mess:"action"` // created, dispatched, replied, or a status code
	At     mess.Time   `mess:"at"`
	By     string      `mess:"by"`
	Ref    string      `mess:"ref"` // ref of the message that caused it; "" for acks
	Note   string      `mess:"note"`
	Extra  mess.Object `mess:"*"`
}

// Thread is an envelope with its messages in order. Messages have the refs of their
// position in the thread; acks and the requests at its start have none.
type Thread struct {
	Envelope Envelope
	Messages []mess.Message
}

// Size limits (section "Size Limits"), in bytes.
const (
	MaxFile   = 1 << 20   // limit for a thread file, unless one document is larger
	MaxInline = 768 << 10 // limit for an attachment in a document, decoded
)

// Folder is one of the folders of threads, by status.
type Folder string

// The folders (section "Folder Mapping").
const (
	Received  Folder = "state=received"
	Executing Folder = "state=executing"
	Finished  Folder = "state=finished"
	Canceled  Folder = "state=canceled"
)

// Folders lists the folders in the order of a thread's life.
var Folders = []Folder{Received, Executing, Finished, Canceled}

// FolderOf returns the folder of a status. An unknown status belongs to the folder for work
// in progress, because an executor has claimed the thread and not finished it.
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

// Time parses a time in the notation of any implementation: RFC 3339 with an offset, or
// without one (UTC). It returns false for an invalid time.
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

// IsAck reports whether a message is an ack of the exchange, which has neither serial nor
// ref (section "Acks Are System Messages").
func IsAck(m mess.Message) bool {
	return len(m.Items) > 0 && !slices.ContainsFunc(m.Items, func(i mess.Item) bool { return i.Kind() != mess.KindAck })
}

// IsRequest reports whether a message creates a thread.
func IsRequest(m mess.Message) bool {
	return slices.ContainsFunc(m.Items, func(i mess.Item) bool { return i.Kind() == mess.KindRequest })
}

// Numbered reports whether a message has a serial and a ref: all except acks and requests.
func Numbered(m mess.Message) bool { return !IsAck(m) && !IsRequest(m) }

// Number sets the refs of the messages of a thread from their order (section "Message
// References"), and returns the last serial.
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

// Fingerprint identifies a message in a thread by its sender and content, without the
// fields that the exchange adds or moves. It is the same after another program has
// rewritten the message.
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
