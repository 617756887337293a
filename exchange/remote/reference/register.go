package reference

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/mess"
)

// register sends a registration, or an empty change as a heartbeat.
func (f *Client) register(ctx context.Context, e mess.Executor) (mess.Ack, error) {
	profile := map[string]any{}
	if e.Name != "" {
		profile["display_name"] = e.Name
	}
	if e.Capabilities != nil {
		profile["capabilities"] = e.Capabilities
	}
	body, err := json.Marshal(profile)
	if err != nil {
		return mess.Ack{}, err
	}
	u, err := f.c.Address(ctx, nil, "executors", f.cfg.Executor)
	if err != nil {
		return mess.Ack{}, err
	}
	if err := f.c.Fetch(ctx, httpclient.Request{Method: http.MethodPatch, URL: u, MIME: "application/json", Body: body}, &struct{}{}); err != nil {
		return mess.Ack{}, err
	}
	ack := mess.Ack{Re: mess.Refs{e.ID}}
	known := map[string]bool{}
	for _, h := range e.Holding {
		known[h.Ref] = true
		stands, err := f.claimState(ctx, h)
		if err != nil {
			return mess.Ack{}, err
		}
		ack.Threads = append(ack.Threads, stands)
	}
	if e.Instance == "" || e.Capabilities == nil { // a heartbeat
		return ack, nil
	}
	others, err := f.leftovers(ctx, known)
	ack.Threads = append(ack.Threads, others...)
	return ack, err
}

// claimState returns the server's view of a thread that this executor holds.
func (f *Client) claimState(ctx context.Context, h mess.HeldThread) (mess.HeldThread, error) {
	is := mess.HeldThread{Ref: h.Ref, Epoch: h.Epoch, Yours: new(false)}
	t, _, err := f.read(ctx, h.Ref)
	if errors.Is(err, mess.NotFound) || errors.Is(err, mess.Invalid) {
		return is, nil
	}
	if err != nil {
		return is, err
	}
	s := statusUpdate{Client: f, ref: h.Ref}
	is.Status = t.Status
	if *is.Yours = s.endsThread(t); !*is.Yours {
		return is, nil
	}
	if cancelledAfter(t, f.cfg.Executor, int(h.Epoch)) {
		is.Stop = new(true)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.claims[h.Ref] == nil { // from an earlier run
		f.claims[h.Ref] = &ownClaim{epoch: h.Epoch, read: len(t.Messages)}
	}
	return is, nil
}

// atWork lists the statuses of claimed threads, in both spellings.
var atWork = []string{"claimed", "in_progress", "in-progress", "needs_input", "needs-input", "needs_confirmation", "needs-confirmation", "waiting", "held", "retrying"}

// leftovers handles threads of an earlier run that this run does not know. It makes a thread
// without a start pending again, and returns the others to the executor.
func (f *Client) leftovers(ctx context.Context, known map[string]bool) ([]mess.HeldThread, error) {
	found := map[string]bool{}
	for _, word := range atWork {
		list, err := f.list(ctx, word)
		if err != nil {
			return nil, err
		}
		for _, t := range list {
			if _, held := f.claimOf(t.Ref); t.Executor == f.cfg.Executor && !known[t.Ref] && !held && mess.ValidRef(t.Ref) {
				found[t.Ref] = true
			}
		}
	}
	var threads []mess.HeldThread
	for _, ref := range slices.Sorted(maps.Keys(found)) {
		t, _, err := f.read(ctx, ref)
		if err != nil {
			return nil, err
		}
		place, claim := lastStatusOf(t, f.cfg.Executor, inCode(mess.Claimed))
		begun, _ := lastStatusOf(t, f.cfg.Executor, inCode(mess.InProgress))
		if t.Executor != f.cfg.Executor || t.Status.Terminal() || t.Status == mess.Pending || claim == nil {
			continue // it has changed since, or this executor never claimed it in a message
		}
		if begun > place || t.Status == mess.InProgress {
			threads = append(threads, mess.HeldThread{Ref: ref, Epoch: uint64(place + 1), Status: mess.InProgress, Yours: new(true)})
			continue
		}
		back := &mess.Status{Code: mess.Delegated, Executor: f.cfg.Executor, Reason: &mess.Reason{
			Type: mess.Shutdown, Detail: "this executor restarted before it began", Effect: mess.EffectNone,
		}}
		s := statusUpdate{Client: f, ref: ref, status: back, items: []mess.Item{back}}
		if err := s.put(ctx, mess.Pending, s.items); err != nil {
			return nil, err
		}
		f.log.Info("offered again: an earlier run had claimed it", "ref", ref)
	}
	return threads, nil
}

// fieldInline is the maximum size of the images in one report, in bytes of the files: base64
// adds a third, and the text needs room too.
const fieldInline = 7 << 20

// Attach returns a file as a data URI for the report, because the server does not store files.
func (f *Client) Attach(_ context.Context, ref, name, mime string, data io.Reader) (mess.Media, error) {
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(data, fieldInline+1))
	if err != nil {
		return mess.Media{}, fmt.Errorf("%s: %w", name, err)
	}
	if strings.ContainsAny(mime, ";, \r\n") || mime == "" {
		return mess.Media{}, mess.Errorf(mess.Invalid, "%s: %.60q cannot be the type of an inline file", name, mime)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.claims[ref]
	if h == nil {
		return mess.Media{}, mess.Errorf(mess.StaleToken, "this executor does not hold %s any more", ref)
	}
	if h.inline+int(n) > fieldInline {
		return mess.Media{}, mess.Errorf(mess.TooLarge, "%s: with it the report would be larger than the server takes (%d bytes of files)", name, fieldInline)
	}
	h.inline += int(n)
	return mess.Media{URI: "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(b.Bytes()), Name: name, MIME: mime, Size: &n}, nil
}
