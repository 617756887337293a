package mesh

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/safehttp"
	"github.com/messkit/messkit/internal/wait"
)

// legacyText is a text without an envelope, in the form in which Config.TextURL receives it.
type legacyText struct {
	ID         string    `json:"id"`
	From       string    `json:"from"` // peer in the path; "agent": unknown
	To         string    `json:"to"`
	Text       string    `json:"text"`
	SessionKey string    `json:"sessionKey,omitempty"`
	At         time.Time `json:"at"`
}

func (b *inbound) restoreText(doc []byte) error {
	t, err := stored[legacyText](doc)
	if err == nil {
		b.spawn(func(ctx context.Context) { b.deliverText(ctx, t) })
	}
	return err
}

// forwardText stores a text, and forwards it to Config.TextURL unless that is "". It returns
// after it has stored the text.
func (b *inbound) forwardText(ctx context.Context, from string, h wire.Hook) error {
	if b.cfg.TextURL == "" {
		return nil
	}
	t := legacyText{ID: newID(), From: from, To: b.cfg.Agent, Text: h.Message, SessionKey: h.SessionKey, At: time.Now().UTC()}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTime)
	defer cancel()
	if err := b.save(ctx, docText+t.ID, t); err != nil {
		return err
	}
	b.spawn(func(ctx context.Context) { b.deliverText(ctx, t) })
	return nil
}

// textGaps are the waits before the attempts, the same as between agents (section 8).
var textGaps = [...]time.Duration{0, 5 * time.Second, 15 * time.Second, time.Minute}

// deliverText forwards a text. If all attempts fail, only the audit log contains it.
func (b *inbound) deliverText(ctx context.Context, t legacyText) {
	status, detail := "text_not_handed_on", ""
	for _, gap := range textGaps {
		if !wait.For(ctx, gap) {
			return // the next run continues
		}
		code, err := b.postText(ctx, t)
		if ctx.Err() != nil {
			return
		}
		if detail = fmt.Sprintf("it answers %d", code); err != nil {
			detail = err.Error()
		}
		if err == nil && code/100 == 2 {
			status, detail = "text_handed_on", ""
		}
		if err == nil && (code/100 == 2 || code/100 == 4) {
			break
		}
	}
	if detail != "" {
		b.log.Error("mesh: cannot forward a text", "from", t.From, "id", t.ID, "err", detail)
	}
	b.store.Audit(state.Line{From: t.From, To: t.To, Type: "text", ID: t.ID, Status: status, Detail: detail})
	if err := b.save(ctx, docText+t.ID, nil); err != nil {
		b.log.Warn("mesh: a text may go out again", "id", t.ID, "err", err)
	}
}

// postText posts a text once and returns the status code of the answer.
func (b *inbound) postText(ctx context.Context, t legacyText) (code int, _ error) {
	body, err := json.Marshal(t)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.cfg.TextURL, bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("there is no such address")
	}
	req.Header.Set("Content-Type", "application/json")
	client := safehttp.Client(safehttp.Config{
		Check:   func(netip.Addr) error { return nil }, // the configuration names the address, so every address is allowed
		Connect: 10 * time.Second, Total: workTime,
	})
	defer client.CloseIdleConnections()
	res, err := safehttp.Send(client, req)
	if err != nil {
		b.log.Debug("mesh: text_url does not accept a text", "err", err)
		return 0, errors.New("no server answers at text_url")
	}
	return res.StatusCode, nil
}
