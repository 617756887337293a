package snapshot

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
)

// Entry is the last change of a thread or of a document.
type Entry struct {
	Seq  uint64 // its position
	form form

	ended    logformat.Summary // of an ended thread, without the client id
	ref      string            // of another thread
	envelope []byte            // of an open thread, as the stream has it
	kind, id string            // of a document
	doc      []byte
}

// form is the form of an entry. The values are those in a part.
type form byte

const (
	endedThread form = 1 + iota
	openThread
	removedThread
	document
	removedDocument
)

// EntryOf returns the entry for a change of the feed. envelope is the JSON of its envelope: a later
// release may have written fields that this one does not know.
func EntryOf(seq uint64, c *thread.Change, envelope []byte) Entry {
	e := Entry{Seq: seq}
	switch {
	case c.Kind != "":
		e.form, e.kind, e.id, e.doc = document, c.Kind, c.ID, c.Doc
		if c.Doc == nil {
			e.form = removedDocument
		}
	case c.Removed:
		e.form, e.ref = removedThread, c.Envelope.Ref
	case c.Outline || c.Envelope.Status.Terminal():
		e.form, e.ended = endedThread, logformat.SummaryOf(c.Envelope)
		e.ended.ClientID = ""
		if c.Outline {
			e.ended.Devices = c.Devices
		}
	default:
		e.form, e.ref, e.envelope = openThread, c.Envelope.Ref, bytes.Clone(envelope)
	}
	return e
}

// threadRef returns the ref of a thread, or "".
func (e *Entry) threadRef() string {
	if e.form == endedThread {
		return e.ended.Ref
	}
	return e.ref
}

// removes reports whether the entry only removes an earlier one.
func (e *Entry) removes() bool { return e.form == removedThread || e.form == removedDocument }

// change returns the change of the entry, which shares no list with it. envelope is that of an open thread.
func (e *Entry) change(envelope *thread.Envelope) thread.Change {
	rev := thread.Rev(strconv.FormatUint(e.Seq, 10))
	switch e.form {
	case endedThread:
		return thread.Change{Envelope: e.ended.Envelope(), Rev: rev, Outline: true, Devices: slices.Clone(e.ended.Devices)}
	case openThread:
		return thread.Change{Envelope: *envelope, Rev: rev}
	case removedThread:
		return thread.Change{Envelope: thread.Envelope{Ref: e.ref}, Removed: true}
	case document:
		return thread.Change{Kind: e.kind, ID: e.id, Doc: e.doc, Rev: rev}
	}
	return thread.Change{Kind: e.kind, ID: e.id}
}
