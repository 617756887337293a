package mesh

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// alert takes an alert, and tells people where it is new (section 9).
func (d *Adapter) alert(ctx context.Context, in *incoming) (string, error) {
	verdict, incident, err := d.judge(ctx, in)
	if err != nil {
		return "", err
	}
	if in.ReplyTo != nil {
		e := d.answerTo(in.peer, d.askedBy(in), wire.Ack)
		e.ID, e.TTL = newID(), wire.DefaultTTL
		e.Payload.Body = "Noted: " + string(verdict)
		e.Payload.Metadata = wire.Object{}.With("status", string(verdict)).With("incident", incident.ID)
		o := d.sealed(in.peer, e, d.askedBy(in))
		o.Once = true
		if err := d.enqueue(ctx, o); err != nil {
			return "", err
		}
	}
	return string(verdict), nil
}

// judge judges an alert, and tells people where it is new. What cannot be told now
// is told by sumUp.
func (d *Adapter) judge(ctx context.Context, in *incoming) (state.Verdict, state.Incident, error) {
	d.telling.Lock()
	defer d.telling.Unlock()
	verdict, incident, err := d.store.Judge(d.cfg.policy(), alertOf(in))
	if err == nil && verdict != state.Suppressed {
		d.tellOf(ctx, incident, in.Payload.Body)
	}
	return verdict, incident, err
}

// alertOf reads an alert: metadata.host, check, scope and status, where they are
// there.
func alertOf(in *incoming) state.Alert {
	meta := in.Payload.Metadata
	subject := cmp.Or(strings.TrimSpace(in.Payload.Subject), strings.TrimSpace(in.Payload.Body))
	a := state.Alert{Host: meta.Get("host"), Check: meta.Get("check"), Group: meta.Get("scope"), Subject: subject, At: in.Time, Recovery: over(meta.Get("status"), subject, in.Payload.Body)}
	if a.Host == "" {
		a.Host = in.From
	}
	switch {
	case a.Check != "":
		a.Key = a.Host + "_" + a.Check
	case in.IdempotencyKey != "":
		a.Key = in.IdempotencyKey
	default:
		a.Key = a.Host + "_" + strings.ToLower(withoutWord(subject))
	}
	return a
}

// recoveries are words with which an alert says that something is over, at its
// beginning.
var recoveries = []string{"resolved", "recovered", "recovery", "back online", "cleared"}

// over reports whether an alert says that something is over.
func over(status string, texts ...string) bool {
	switch strings.ToLower(status) {
	case "":
	case "resolved", "recovered", "recovery", "ok", "up":
		return true
	default:
		return false
	}
	for _, text := range texts {
		if word, _ := leading(text); word != "" {
			return true
		}
	}
	return false
}

// leading is the word of a recovery that a text begins with, and the rest.
func leading(text string) (word, rest string) {
	plain := strings.TrimLeft(text, " \t\r\n[(*✅🟢:-")
	for _, w := range recoveries {
		if len(plain) < len(w) || !strings.EqualFold(plain[:len(w)], w) {
			continue
		}
		after := plain[len(w):]
		if after == "" || strings.ContainsAny(after[:1], " ])*:.,!-") {
			return w, strings.TrimLeft(after, " ])*:.,!-")
		}
	}
	return "", text
}

func withoutWord(text string) string {
	_, rest := leading(text)
	return rest
}

// tellOf tells people what is untold of an incident: in the log, and the peers that
// are to know. d.telling is held.
func (d *Adapter) tellOf(ctx context.Context, i state.Incident, text string) {
	what := string(i.Untold)
	d.notice(mess.Elevated, fmt.Sprintf("[%s] %s", what, i.Scope), notice(what, i, text))
	d.log.Warn("mesh: alert", "what", what, "incident", i.ID, "scope", i.Scope, "alerts", i.AlertCount, "text", clipLog(text))
	for _, name := range d.cfg.Notify {
		p := d.peer(name)
		e := wire.Envelope{
			ID: newID(), Time: time.Now(), From: d.cfg.Agent, To: name, Type: wire.Notification, Priority: wire.High, TTL: wire.DefaultTTL, Nonce: newNonce(),
			Payload: wire.Payload{
				Subject: fmt.Sprintf("[%s] %s", what, i.Scope), Body: notice(what, i, text),
				Metadata: wire.Object{}.With("incident", i.ID).With("status", what),
			},
		}
		if err := d.enqueue(ctx, d.ready(p, e, false)); err != nil {
			d.log.Error("mesh: a peer is not told of an incident yet", "to", name, "err", err)
			return
		}
	}
	if err := d.store.Told(i.ID); err != nil {
		d.log.Warn("mesh: people may be told of an incident twice", "incident", i.ID, "err", err)
	}
}

// notice tells people by the notices of the exchange (ntfy, webhook).
func (d *Adapter) notice(p mess.Priority, subject, body string) {
	if d.opts.Notice == nil {
		return
	}
	text := subject
	if body = strings.TrimSpace(body); body != "" && !strings.HasSuffix(subject, body) {
		text += "\n" + clipNotice(body)
	}
	d.opts.Notice(p, text)
}

// maxNotice is how much of a text goes into a notice, in bytes.
const maxNotice = 1000

func clipNotice(s string) string {
	if len(s) <= maxNotice {
		return s
	}
	return strings.ToValidUTF8(s[:maxNotice], "") + "..."
}

// escalate tells people of a dead letter that nobody sends again by itself.
func (d *Adapter) escalate(l state.Letter, why string) {
	d.log.Warn("mesh: a message was not delivered, and is not sent again", "to", l.To, "id", l.ID, "why", why)
	d.notice(mess.Elevated, "A message to "+l.To+" was not delivered: "+why, "messkit mesh audit --id "+l.ID+" shows it")
}

func clipLog(s string) string { return strings.ToValidUTF8(s[:min(len(s), 200)], "") }

// notice is an incident in words.
func notice(what string, i state.Incident, text string) string {
	s := fmt.Sprintf("%s: %s, %d alerts since %s", what, cmp.Or(i.Subject, i.Scope), i.AlertCount, i.FirstSeen.UTC().Format(time.RFC3339))
	if len(i.AffectedHosts) > 0 {
		s += "; hosts: " + strings.Join(i.AffectedHosts, ", ")
	}
	if text != "" {
		s += "\n" + clipped(text)
	}
	return s
}

// sumUp tells people of what lasts, by the policy, and the audit log of what is
// not in it.
func (d *Adapter) sumUp(ctx context.Context) error {
	defer d.tellRest()
	for {
		d.tellRest()
		d.tellUntold(ctx)
		if !wait.For(ctx, sumUpEvery) {
			return nil
		}
	}
}

// tellUntold tells what is due now, and what could not be told before.
func (d *Adapter) tellUntold(ctx context.Context) {
	d.telling.Lock()
	defer d.telling.Unlock()
	if _, _, err := d.store.Summaries(d.cfg.policy()); err != nil {
		d.log.Warn("mesh: incidents cannot be written", "err", err)
	}
	for _, i := range d.store.Untold() {
		d.tellOf(ctx, i, "")
	}
}

// sumUpEvery is how exactly the policy is followed.
const sumUpEvery = time.Minute
