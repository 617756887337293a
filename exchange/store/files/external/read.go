// Package external reads the threads that other programs have put into the folders of an
// exchange, checks them, and copies a thread there as such a program would. It does not know the
// store's log.
package external

import (
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Reader reads the threads of other programs for one exchange.
type Reader struct {
	Look func(name string) (fs.FileInfo, error) // looks at a file of the exchange's folder, and follows no link
	Now  func() time.Time
	Log  *slog.Logger
}

// Records returns a thread that the log does not know as records of the log. It returns
// messeaf.Problems for a thread that the exchange must not take.
func (r Reader) Records(p messeaf.Place, t messeaf.Thread) (_ []logformat.Record, err error) {
	in := Thread(t)
	switch {
	case in.Status.Terminal():
		e := logformat.SummaryOf(in.Envelope)
		return []logformat.Record{{Ended: &e}}, nil
	case in.Status == mess.Pending:
		in, err = r.offerable(p, t)
	default:
		_, err = checkComplete(p, t)
	}
	if err != nil {
		return nil, err
	}
	return splitRecords(p, in)
}

// Problem returns an error about a thread's file, as messeaf.Problems.
func Problem(p messeaf.Place, where, format string, args ...any) error {
	return messeaf.Problems{{File: p.Path, Path: where, Text: fmt.Sprintf(format, args...)}}
}

// checkComplete returns an error for an open thread that lacks a part: its writer may not have
// finished. It returns the index of the request among the messages.
func checkComplete(p messeaf.Place, t messeaf.Thread) (request int, err error) {
	e := t.Envelope
	request = slices.IndexFunc(t.Messages, hasRequest)
	switch {
	case e.Requester == "":
		return 0, Problem(p, "requestor", "is missing; the thread may not be whole yet")
	case status(e.Status) == mess.InProgress && !e.Status.Known() && e.Executor == "":
		return 0, Problem(p, "status", "%.40q is not in the specification, and the thread names no executor", e.Status)
	case request < 0:
		return 0, Problem(p, "", "has no readable request; the thread may not be whole yet")
	case e.Requester == thread.Self || t.Messages[request].From == thread.Self:
		return 0, Problem(p, "requestor", "only the exchange itself has the id %q", thread.Self)
	}
	return request, nil
}

// hasRequest reports whether a message contains a readable request.
func hasRequest(m mess.Message) bool {
	return slices.ContainsFunc(m.Items, func(i mess.Item) bool { _, ok := i.(*mess.Request); return ok })
}

// offerable returns a pending thread in the form that the exchange offers to executors: up to
// the first message after its request that no exchange has judged. If the requester has
// cancelled the request, offerable returns the whole thread as cancelled. It rejects a request
// that a channel would reject.
func (r Reader) offerable(p messeaf.Place, t messeaf.Thread) (thread.Thread, error) {
	at, err := checkComplete(p, t)
	if err != nil {
		return thread.Thread{}, err
	}
	for _, m := range t.Messages {
		if isCancelledBy(m, t.Envelope.Requester) {
			r.Log.Info("another program made a thread that contains its cancel; the exchange asks no executor", "ref", p.Ref)
			return r.cancelled(Thread(t), m.Ref), nil
		}
	}
	end, acked := at+1, judgedRefs(t)
	for end < len(t.Messages) && (messeaf.IsAck(t.Messages[end]) || acked[t.Messages[end].Ref]) {
		end++
	}
	t.Messages = t.Messages[:end]
	return Thread(t), checkOfferable(p, t, r.Look)
}

// checkOfferable returns an error for a request that a channel would reject, or if attachments
// are missing or incomplete.
func checkOfferable(p messeaf.Place, t messeaf.Thread, look func(name string) (fs.FileInfo, error)) error {
	in := Thread(t)
	req := in.Request()
	if err := (mess.Message{Items: []mess.Item{&req}}).Validate(); err != nil {
		return Problem(p, "", "cannot be offered: %v", err)
	}
	return checkAttachments(p, t, look)
}

// judgedRefs returns the refs of the messages that have an ack of an exchange. They exist if the
// log was lost.
func judgedRefs(t messeaf.Thread) map[string]bool {
	refs := map[string]bool{}
	for m, a := range mess.ItemsOf[*mess.Ack](t.Messages) {
		if m.From == thread.Self && a.Ref != "" {
			refs[a.Ref] = true
		}
	}
	return refs
}

// isCancelledBy reports whether a message contains the requester's cancel.
func isCancelledBy(m mess.Message, requester string) bool {
	for _, item := range m.Items {
		if item.Kind() == mess.KindCancel && m.From == requester {
			return true
		}
	}
	return false
}

// cancelled returns a thread with the status cancelled. Its requester has cancelled it before
// the exchange offered it to an executor.
func (r Reader) cancelled(t thread.Thread, by string) thread.Thread {
	t.Status, t.Phase, t.Updated = mess.Cancelled, thread.Finished, r.Now()
	t.History = append(t.History, thread.HistoryEntry{Action: string(mess.Cancelled), At: t.Updated, By: t.Requester, Ref: by})
	return t
}

// checkAttachments returns an error for a request with missing or incomplete attachments.
func checkAttachments(p messeaf.Place, t messeaf.Thread, look func(name string) (fs.FileInfo, error)) error {
	for _, a := range t.Attachments() {
		if a.Data != nil || a.Thread != "" {
			continue // it is in the document, or elsewhere
		}
		name := path.Join(p.Dir(), a.Name)
		info, err := look(name)
		switch {
		case err != nil:
			return messeaf.Problems{{File: name, Text: "is not there, and the request names it"}}
		case !info.Mode().IsRegular():
			return messeaf.Problems{{File: name, Text: durable.ErrIrregular.Error()}}
		case a.Size >= 0 && (info.Size() > a.Size || info.Size() < a.Size-padding):
			return messeaf.Problems{{File: name, Text: fmt.Sprintf("has %d bytes, and the request says %d", info.Size(), a.Size)}}
		}
	}
	return nil
}

// padding is the number of bytes by which a stated size may exceed the real one: one writer
// counts the padding of base64 (contract, "A complete thread as the Node server writes it").
const padding = 2

// splitRecords returns a thread as records that each fit into the log.
func splitRecords(p messeaf.Place, t thread.Thread) ([]logformat.Record, error) {
	whole, err := logformat.OfThread(t)
	if err != nil {
		return nil, err
	}
	var all []logformat.Record
	whole.Parts(logformat.PartBytes, func(r logformat.Record) {
		var data []byte
		if data, err = r.Encode(); err == nil && len(data) > wal.MaxRecord {
			err = Problem(p, "", "a message has %d bytes; put what is large into files beside it", len(data))
		}
		all = append(all, r)
	})
	return all, err
}
