package reference

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/mess"
)

// inField is how servers in the field spell a status that they do not take as
// the spec does, in the order in which it is tried. What none of them knows is
// said by what comes nearest and does not promise more; "" leaves the status as
// it is. The message always has the right word.
var inField = map[mess.Code][]string{
	mess.Declined:          {"rejected"},
	mess.NeedsConfirmation: {"needs-input"},
	mess.Failed:            {"cancelled"},
	mess.Partial:           {"cancelled"},
	mess.Waiting:           {""},
	mess.Held:              {""},
	mess.Retrying:          {""},
}

// spellings are the words for a status, the one that the server took before
// first.
func (f *Client) spellings(code mess.Code) []string {
	words := append([]string{string(code), strings.ReplaceAll(string(code), "_", "-")}, inField[code]...)
	f.mu.Lock()
	defer f.mu.Unlock()
	if word, ok := f.words[code]; ok {
		words = slices.Insert(words, 0, word)
	}
	return slices.Compact(words)
}

// fieldBody is the largest body that servers in the field take, in bytes.
const fieldBody = 10 << 20

// put sends a status with the items that say it, in a spelling that the server
// takes. With code "" the items are added, and the status stays.
func (s *statusUpdate) put(ctx context.Context, code mess.Code, items []mess.Item) (err error) {
	words := []string{""}
	if code != "" {
		words = s.spellings(code)
	}
	for _, word := range words {
		if err = s.patch(ctx, word, items); err == nil && code != "" {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.words[code] = word
			return nil
		}
		if r, ok := errors.AsType[*mess.Error](err); !ok || r.Code != mess.Invalid {
			return err
		}
	}
	return err
}

func (s *statusUpdate) patch(ctx context.Context, word string, items []mess.Item) error {
	in := map[string]any{"mess": json.RawMessage(mess.Message{Items: items}.ListJSON())}
	if word != "" {
		in["status"] = word
	}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	if len(body) > fieldBody {
		return mess.Errorf(mess.TooLarge, "the report has %d bytes; the server takes %d", len(body), fieldBody)
	}
	u, err := s.c.Address(ctx, nil, "requests", s.ref)
	if err != nil {
		return err
	}
	return s.c.Fetch(ctx, httpclient.Request{Method: http.MethodPatch, URL: u, MIME: "application/json", Body: body}, &struct{}{})
}

// named are the items with the message's id in their status, by which it is
// known when it was sent before. The last word on a thread is signed and stays
// as it is.
func (s *statusUpdate) named() []mess.Item {
	c := *s.status
	c.ID, c.Executor, c.Re = s.id, s.cfg.Executor, mess.Refs{s.ref}
	if c.Code == mess.NeedsConfirmation && c.ConfirmBy != "" && len(s.cfg.Operators) == 0 && c.Message == "" {
		c.Message = "nobody at this server may confirm this: the executor's configuration names none (connect: operators:)"
	}
	items := slices.Clone(s.items)
	items[slices.Index(items, mess.Item(s.status))] = &c
	return items
}

// tell says a status that does not end the thread.
func (s *statusUpdate) tell(ctx context.Context, h hold) (mess.Ack, error) {
	t, _, err := s.read(ctx, s.ref)
	if err != nil {
		return mess.Ack{}, err
	}
	if err := s.ours(t, h); err != nil {
		return mess.Ack{}, err
	}
	ack := mess.Ack{Status: s.status.Code, Epoch: h.epoch}
	if place, _ := said(t, s.cfg.Executor, withID(s.id)); place >= 0 {
		return ack, nil
	}
	return ack, s.put(ctx, s.status.Code, s.named())
}

// progressPause is the shortest time between two reports of progress: some of
// these servers write a file, or make a commit, for each.
const progressPause = 10 * time.Second

// progress says how far it is, now and then.
func (s *statusUpdate) progress(ctx context.Context, h hold) (mess.Ack, error) {
	ack := mess.Ack{Status: mess.InProgress, Epoch: h.epoch}
	if time.Since(h.told) < progressPause {
		return ack, nil
	}
	s.change(s.ref, func(h *hold) { h.told = time.Now() })
	return s.tell(ctx, h)
}

// release lets a thread wait again that was claimed and not begun.
func (s *statusUpdate) release(ctx context.Context) (mess.Ack, error) {
	defer s.drop(s.ref)
	t, _, err := s.read(ctx, s.ref)
	if err != nil {
		return mess.Ack{}, err
	}
	_, claim := said(t, s.cfg.Executor, inCode(mess.Claimed))
	ours := claim != nil && (claim.Instance == s.status.Instance || s.status.Instance == "")
	if begun, _ := said(t, s.cfg.Executor, inCode(mess.InProgress)); begun >= 0 || !ours || t.Executor != s.cfg.Executor || t.Status == mess.Pending || t.Status.Terminal() {
		return mess.Ack{}, s.refuse(mess.StaleToken, t, "it is not this executor's to hand back")
	}
	return mess.Ack{Status: mess.Pending}, s.put(ctx, mess.Pending, s.items)
}

// end says the last word of this executor. Where the thread has ended or is
// somebody else's by now, it is added for whoever reads it, and changes nothing.
// Then it is read back: some servers lose what is said at the same time.
func (s *statusUpdate) end(ctx context.Context) (mess.Ack, error) {
	for range 3 {
		t, _, err := s.read(ctx, s.ref)
		if err != nil {
			return mess.Ack{}, err
		}
		if s.ended(t) {
			s.drop(s.ref)
			return mess.Ack{Status: t.Status}, nil
		}
		code := s.status.Code
		if !s.decides(t) {
			code = ""
		}
		if err := s.put(ctx, code, s.items); err != nil {
			return mess.Ack{}, err
		}
	}
	return mess.Ack{}, mess.Errorf(mess.Unavailable, "%s: the server has lost the report", s.ref)
}

// decides reports whether this executor's last word is how the thread ends: it
// holds it, or has begun it alone.
func (s *statusUpdate) decides(t httpclient.Thread) bool {
	begun, _ := said(t, s.cfg.Executor, inCode(mess.InProgress))
	claim, _ := said(t, s.cfg.Executor, inCode(mess.Claimed))
	holds := t.Executor == s.cfg.Executor && t.Status != mess.Pending
	return !t.Status.Terminal() && (holds || begun >= max(0, claim) && begunBy(t, s.cfg.Executor) == "")
}

// ended reports whether this executor's last word stands in the thread, after
// its last claim, and has ended it where that is its part.
func (s *statusUpdate) ended(t httpclient.Thread) bool {
	end, _ := said(t, s.cfg.Executor, func(o *mess.Status) bool { return ends(o) && codeOf(string(o.Code)) == s.status.Code })
	claim, _ := said(t, s.cfg.Executor, inCode(mess.Claimed))
	return end > claim && !s.decides(t)
}

// write ends a thread in the name of this executor, with words of its own.
func (s *statusUpdate) write(ctx context.Context, t httpclient.Thread, status *mess.Status) error {
	other := statusUpdate{Client: s.Client, ref: s.ref, status: status, items: []mess.Item{status}}
	if t.Status.Terminal() {
		return other.put(ctx, "", other.items)
	}
	return other.put(ctx, status.Code, other.items)
}
