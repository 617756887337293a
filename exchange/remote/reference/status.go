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

// inField maps a status to other spellings of the reference servers, in the order of the
// attempts. A status that no server knows maps to the nearest one that does not promise more; ""
// leaves the thread's status unchanged. The message always contains the correct status.
var inField = map[mess.Code][]string{
	mess.Declined:          {"rejected"},
	mess.NeedsConfirmation: {"needs-input"},
	mess.Failed:            {"cancelled"},
	mess.Partial:           {"cancelled"},
	mess.Waiting:           {""},
	mess.Held:              {""},
	mess.Retrying:          {""},
}

// spellings returns the spellings of a status; the one that the server has accepted before comes
// first.
func (f *Client) spellings(code mess.Code) []string {
	spellings := append([]string{string(code), strings.ReplaceAll(string(code), "_", "-")}, inField[code]...)
	f.mu.Lock()
	defer f.mu.Unlock()
	if word, ok := f.spelling[code]; ok {
		spellings = slices.Insert(spellings, 0, word)
	}
	return slices.Compact(spellings)
}

// fieldBody is the maximum size of a body at the reference servers, in bytes.
const fieldBody = 10 << 20

// put sends a status and its items, in a spelling that the server accepts. With the code "" it
// adds the items and leaves the status.
func (s *statusUpdate) put(ctx context.Context, code mess.Code, items []mess.Item) (err error) {
	spellings := []string{""}
	if code != "" {
		spellings = s.spellings(code)
	}
	for _, word := range spellings {
		if err = s.patch(ctx, word, items); err == nil && code != "" {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.spelling[code] = word
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

// named returns the items with the message's id in their status, so that the client recognizes a
// resent message. It does not apply to a terminal status, because its signature covers it.
func (s *statusUpdate) named() []mess.Item {
	c := *s.status
	c.ID, c.Executor, c.Re = s.id, s.cfg.Executor, mess.Refs{s.ref}
	if c.Code == mess.NeedsConfirmation && c.ConfirmBy != "" && len(s.cfg.Operators) == 0 && c.Message == "" {
		c.Message = "no person at this server may confirm this: the executor's configuration names none (connect: operators:)"
	}
	items := slices.Clone(s.items)
	items[slices.Index(items, mess.Item(s.status))] = &c
	return items
}

// reportStatus reports a status that is not terminal.
func (s *statusUpdate) reportStatus(ctx context.Context, h ownClaim) (mess.Ack, error) {
	t, _, err := s.read(ctx, s.ref)
	if err != nil {
		return mess.Ack{}, err
	}
	if err := s.checkOwnership(t, h); err != nil {
		return mess.Ack{}, err
	}
	ack := mess.Ack{Status: s.status.Code, Epoch: h.epoch}
	if place, _ := lastStatusOf(t, s.cfg.Executor, withID(s.id)); place >= 0 {
		return ack, nil
	}
	return ack, s.put(ctx, s.status.Code, s.named())
}

// progressPause is the minimum interval of progress reports: some of these servers write a file,
// or make a commit, for each.
const progressPause = 10 * time.Second

// progress reports progress, at most once in progressPause.
func (s *statusUpdate) progress(ctx context.Context, h ownClaim) (mess.Ack, error) {
	ack := mess.Ack{Status: mess.InProgress, Epoch: h.epoch}
	if time.Since(h.reported) < progressPause {
		return ack, nil
	}
	s.change(s.ref, func(h *ownClaim) { h.reported = time.Now() })
	return s.reportStatus(ctx, h)
}

// release makes a claimed thread without a start pending again.
func (s *statusUpdate) release(ctx context.Context) (mess.Ack, error) {
	defer s.drop(s.ref)
	t, _, err := s.read(ctx, s.ref)
	if err != nil {
		return mess.Ack{}, err
	}
	_, claim := lastStatusOf(t, s.cfg.Executor, inCode(mess.Claimed))
	ours := claim != nil && (claim.Instance == s.status.Instance || s.status.Instance == "")
	if begun, _ := lastStatusOf(t, s.cfg.Executor, inCode(mess.InProgress)); begun >= 0 || !ours || t.Executor != s.cfg.Executor || t.Status == mess.Pending || t.Status.Terminal() {
		return mess.Ack{}, s.refuse(mess.StaleToken, t, "this executor does not hold it")
	}
	return mess.Ack{Status: mess.Pending}, s.put(ctx, mess.Pending, s.items)
}

// end reports this executor's terminal status. If the thread has ended or belongs to another
// executor by now, end adds the report as information only. It reads the report back, because
// some servers lose concurrent messages.
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
		if !s.endsThread(t) {
			code = ""
		}
		if err := s.put(ctx, code, s.items); err != nil {
			return mess.Ack{}, err
		}
	}
	return mess.Ack{}, mess.Errorf(mess.Unavailable, "%s: the server has lost the report", s.ref)
}

// endsThread reports whether this executor's terminal status ends the thread: it holds the thread,
// or it is the only one that has started it.
func (s *statusUpdate) endsThread(t httpclient.Thread) bool {
	begun, _ := lastStatusOf(t, s.cfg.Executor, inCode(mess.InProgress))
	claim, _ := lastStatusOf(t, s.cfg.Executor, inCode(mess.Claimed))
	holds := t.Executor == s.cfg.Executor && t.Status != mess.Pending
	return !t.Status.Terminal() && (holds || begun >= max(0, claim) && begunBy(t, s.cfg.Executor) == "")
}

// ended reports whether the thread has this executor's terminal status, after its last claim,
// and whether the status has ended the thread if it decides.
func (s *statusUpdate) ended(t httpclient.Thread) bool {
	end, _ := lastStatusOf(t, s.cfg.Executor, func(o *mess.Status) bool { return ends(o) && codeOf(string(o.Code)) == s.status.Code })
	claim, _ := lastStatusOf(t, s.cfg.Executor, inCode(mess.Claimed))
	return end > claim && !s.endsThread(t)
}

// write ends a thread for this executor with a status of the client.
func (s *statusUpdate) write(ctx context.Context, t httpclient.Thread, status *mess.Status) error {
	other := statusUpdate{Client: s.Client, ref: s.ref, status: status, items: []mess.Item{status}}
	if t.Status.Terminal() {
		return other.put(ctx, "", other.items)
	}
	return other.put(ctx, status.Code, other.items)
}
