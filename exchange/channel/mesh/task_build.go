package mesh

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/mess"
)

// build makes a request of a message. What could not be had of its files is told
// with the answer.
func (d *Adapter) build(ctx context.Context, in *incoming) (*mess.Request, []string, error) {
	text, err := d.nativeText(ctx, in)
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
	if req.ID == "" {
		req.ID = in.ID
	}
	if req.NeededBy == "" && (req.Constraints == nil || req.Constraints.Timing == nil || req.Constraints.Timing.Expires == "") {
		req.NeededBy = mess.TimeOf(in.Expires().Add(skew)) // after that it is not to be begun (section 5, ttl)
	}
	if meta, ok := metadataOf(in.Payload.Metadata); ok {
		req.Extra = req.Extra.Set(channel, mess.Object{{Key: "metadata", Value: meta}})
	}
	var notes []string
	for _, a := range in.Payload.Attachments {
		if nameOf(a) == messFile {
			continue // it is what was read above
		}
		f, err := d.fetch(ctx, in.peer, a)
		if err != nil {
			notes = append(notes, fmt.Sprintf("attachment %s: %v", nameOf(a), err))
			d.audit(in, "attachment_missing", notes[len(notes)-1])
			continue
		}
		req.Context = append(req.Context, f.entry())
	}
	return req, notes, nil
}

// metadataOf are the metadata of a message for the thread, where there are any beside
// the message of MESS.
func metadataOf(o wire.Object) (mess.Object, bool) {
	var meta mess.Object
	text := o.Without(messKey)
	return meta, text != nil && json.Unmarshal(text, &meta) == nil
}

// relayedMetadata returns the metadata that a relayed message of a peer had, to go on
// beside the members that messkit writes itself. Metadata of more than 16 KiB stay in
// the message of MESS.
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

// nativeText is the message of MESS that a message bears, "" for none. One that is
// too large for the metadata is a file; without it nothing is done, since the text
// may be the beginning of it alone.
func (d *Adapter) nativeText(ctx context.Context, in *incoming) (string, error) {
	if text := in.Payload.Metadata.Get(messKey); text != "" {
		return text, nil
	}
	for _, a := range in.Payload.Attachments {
		if nameOf(a) != messFile {
			continue
		}
		f, err := d.fetchUpTo(ctx, in.peer, a, maxSent)
		if err == nil {
			f.Data, err = in.peer.unsealed(f.Data)
		}
		if err == nil && len(bytes.TrimSpace(f.Data)) == 0 {
			err = errors.New("it is empty")
		}
		if err != nil {
			return "", mess.Refuse(mess.Invalid, "%s: %v; send it again", messFile, err)
		}
		return string(f.Data), nil
	}
	return "", nil
}

// nativeRequest is the request of a message of MESS, nil for none.
func nativeRequest(text string) (*mess.Request, error) {
	if text == "" {
		return nil, nil
	}
	m, err := parseMess(text)
	if err != nil {
		return nil, err
	}
	if len(m.Items) != 1 {
		return nil, mess.Refuse(mess.Invalid, "payload.metadata.mess: has %d items; send one request at a time", len(m.Items))
	}
	req, ok := m.Items[0].(*mess.Request)
	if !ok {
		return nil, mess.Refuse(mess.Invalid, "payload.metadata.mess: is a %s and no request", m.Items[0].Kind())
	}
	return req, nil
}

func parseMess(text string) (mess.Message, error) {
	all, err := mess.ParseValid([]byte(text))
	if err != nil {
		return mess.Message{}, mess.Refuse(mess.Invalid, "payload.metadata.mess: %v", err)
	}
	if len(all) != 1 {
		return mess.Message{}, mess.Refuse(mess.Invalid, "payload.metadata.mess: has %d messages; send one", len(all))
	}
	return all[0], nil
}

// priorityOf is how a priority is called in MESS.
func priorityOf(p string) mess.Priority {
	switch p {
	case wire.High:
		return mess.Elevated
	case wire.Low:
		return mess.Background
	}
	return mess.Normal
}

const (
	maxFetched = 2 << 20  // bytes of a file that goes into a request
	maxSent    = 16 << 20 // and of one that came with an answer
)

// fetch gets a file that a message of a peer names.
func (d *Adapter) fetch(ctx context.Context, p *peer, a wire.Attachment) (file, error) {
	return d.fetchUpTo(ctx, p, a, maxFetched)
}

func (d *Adapter) fetchUpTo(ctx context.Context, p *peer, a wire.Attachment, most int64) (file, error) {
	f := file{Name: nameOf(a), MIME: a.MIME, About: a.Description}
	var err error
	switch a.Type {
	case "inline":
		f.Data, err = base64.StdEncoding.DecodeString(a.Data)
	case "url":
		err = d.fetchURL(ctx, p, a.URL, most, &f)
	case "path":
		f.Data, err = d.readPath(a.Path, most)
	}
	if err != nil {
		return file{}, err
	}
	if kind, _, err := mime.ParseMediaType(f.MIME); err != nil || kind == "" {
		f.MIME = cmp.Or(mime.TypeByExtension(path.Ext(f.Name)), http.DetectContentType(f.Data))
	}
	return f, nil
}

// fetchURL gets a file that a peer serves, from nowhere but the peer.
func (d *Adapter) fetchURL(ctx context.Context, p *peer, address string, most int64, f *file) (err error) {
	if !p.now().where.Near(address) {
		return errors.New("it is not at the address of " + p.name + ", and is not fetched")
	}
	client := d.clientFor(p)
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return errors.New("there is no such address")
	}
	res, err := client.Do(req)
	if err != nil {
		d.log.Debug("mesh: a file was not fetched", "from", p.name, "err", err)
		return errors.New("it could not be fetched")
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("it could not be fetched: the server answers %d", res.StatusCode)
	}
	f.Data, err = io.ReadAll(io.LimitReader(res.Body, most+1))
	if err != nil {
		return errors.New("it did not come through")
	}
	if int64(len(f.Data)) > most {
		return fmt.Errorf("it is larger than %d bytes, and was not taken", most)
	}
	if f.MIME == "" {
		f.MIME = res.Header.Get("Content-Type")
	}
	return nil
}

// fetchTime is what fetching one file may take.
const fetchTime = 30 * time.Second

// readPath reads a file of a folder that both have. Nothing leads out of it.
func (d *Adapter) readPath(name string, most int64) ([]byte, error) {
	for _, dir := range d.cfg.Paths {
		rel, err := filepath.Rel(dir, name)
		if err != nil || !filepath.IsAbs(name) || !filepath.IsLocal(rel) {
			continue
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, errors.New("the folder cannot be read here")
		}
		defer root.Close()
		f, err := durable.OpenIn(root, rel, os.O_RDONLY)
		if err != nil {
			return nil, errors.New("there is no such file here, or it cannot be read")
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, most+1))
		switch {
		case err != nil:
			return nil, errors.New("it is no file that can be read here")
		case int64(len(data)) > most:
			return nil, fmt.Errorf("it is larger than %d bytes, and was not taken", most)
		}
		return data, nil
	}
	return nil, errors.New("it is in no folder that both share; send it by its address")
}

// nameOf is a name for a file, as its sender calls it.
func nameOf(a wire.Attachment) string {
	name := a.Filename
	if name == "" {
		name = a.Path
	}
	if name == "" && a.URL != "" {
		name, _, _ = strings.Cut(a.URL, "?")
	}
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == "/" || name == ".." {
		return "file"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, name[:min(len(name), 120)])
}
