package mesh

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/mess"
)

// build makes a MESS request of a message. The notes name the attachments that the agent could not
// fetch; the response contains them.
func (ts *tasks) build(ctx context.Context, in *incoming) (*mess.Request, []string, error) {
	text, err := ts.nativeText(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	req, err := nativeRequest(text)
	if err != nil {
		return nil, nil, err
	}
	if req == nil {
		req = &mess.Request{Intent: cmp.Or(strings.TrimSpace(in.Payload.Body), strings.TrimSpace(in.Payload.Subject)), Priority: priorityOf(in.Priority)}
	}
	req.ID = cmp.Or(req.ID, in.ID)
	if req.NeededBy == "" && (req.Constraints == nil || req.Constraints.Timing == nil || req.Constraints.Timing.Expires == "") {
		req.NeededBy = mess.TimeOf(in.Expires().Add(skew)) // the task must not begin after that (section 5, ttl)
	}
	if meta, ok := metadataOf(in.Payload.Metadata); ok {
		req.Extra = req.Extra.Set(channel, mess.Object{{Key: "metadata", Value: meta}})
	}
	var notes []string
	for _, a := range in.Payload.Attachments {
		if nameOf(a) == messFile {
			continue // nativeText has read it
		}
		f, err := ts.files.fetch(ctx, in.peer, a)
		if err != nil {
			notes = append(notes, fmt.Sprintf("attachment %s: %v", nameOf(a), err))
			ts.audit(in, "attachment_missing", notes[len(notes)-1])
			continue
		}
		req.Context = append(req.Context, f.entry())
	}
	return req, notes, nil
}

// metadataOf returns the metadata of a message for the thread. ok is false if there are none but
// the MESS message.
func metadataOf(o wire.Object) (mess.Object, bool) {
	var meta mess.Object
	text := o.Without(messKey)
	return meta, text != nil && json.Unmarshal(text, &meta) == nil
}

// relayedMetadata returns the metadata of a message that a peer has relayed, without the fields
// that messkit writes itself. It returns none if they have more than 16 KiB; the MESS message
// contains them then.
func relayedMetadata(extra mess.Object) wire.Object {
	v, _ := extra.Get(channel)
	in, _ := v.(mess.Object)
	v, _ = in.Get("metadata")
	fields, _ := v.(mess.Object)
	var out wire.Object
	size := 0
	for _, f := range fields {
		value, err := json.Marshal(f.Value)
		if size += len(f.Key) + len(value); err != nil || size > maxNative {
			return nil
		}
		if f.Key != messKey && f.Key != "status" && f.Key != "ref" {
			out = append(out, wire.Member{Key: f.Key, Value: value})
		}
	}
	return out
}

// nativeText returns the MESS message in a message, "" for none. A MESS message that is too large
// for the metadata is a file. If the agent cannot fetch the file, it rejects the request, because
// its text may be incomplete.
func (ts *tasks) nativeText(ctx context.Context, in *incoming) (string, error) {
	if text := in.Payload.Metadata.Get(messKey); text != "" {
		return text, nil
	}
	for _, a := range in.Payload.Attachments {
		if nameOf(a) != messFile {
			continue
		}
		f, err := ts.files.fetchUpTo(ctx, in.peer, a, maxSent)
		if err == nil {
			f.Data, err = in.peer.Unsealed(f.Data)
		}
		if err == nil && len(bytes.TrimSpace(f.Data)) == 0 {
			err = errors.New("it is empty")
		}
		if err != nil {
			return "", mess.Errorf(mess.Invalid, "%s: %v; send it again", messFile, err)
		}
		return string(f.Data), nil
	}
	return "", nil
}

// nativeRequest returns the request in a MESS message, nil for none.
func nativeRequest(text string) (*mess.Request, error) {
	if text == "" {
		return nil, nil
	}
	m, err := parseMess(text)
	if err != nil {
		return nil, err
	}
	if len(m.Items) != 1 {
		return nil, mess.Errorf(mess.Invalid, "payload.metadata.mess: has %d items; send one request at a time", len(m.Items))
	}
	req, ok := m.Items[0].(*mess.Request)
	if !ok {
		return nil, mess.Errorf(mess.Invalid, "payload.metadata.mess: is a %s and no request", m.Items[0].Kind())
	}
	return req, nil
}

func parseMess(text string) (mess.Message, error) {
	all, err := mess.ParseValid([]byte(text))
	if err != nil {
		return mess.Message{}, mess.Errorf(mess.Invalid, "payload.metadata.mess: %v", err)
	}
	if len(all) != 1 {
		return mess.Message{}, mess.Errorf(mess.Invalid, "payload.metadata.mess: has %d messages; send one", len(all))
	}
	return all[0], nil
}

// priorityOf converts a MESH priority to a MESS priority.
func priorityOf(p string) mess.Priority {
	switch p {
	case wire.High:
		return mess.Elevated
	case wire.Low:
		return mess.Background
	}
	return mess.Normal
}
