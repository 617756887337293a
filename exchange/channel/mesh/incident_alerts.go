package mesh

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// incidents judges the alerts of peers, and notifies people of new incidents.
type incidents struct {
	*shared
	outbox    *outbox
	notifying sync.Mutex // held while people are notified
}

// accept handles an alert, and notifies people if it changes an incident (section 9).
func (ic *incidents) accept(ctx context.Context, in *incoming) (string, error) {
	effect, incident, err := ic.judge(ctx, in)
	if err != nil {
		return "", err
	}
	if in.ReplyTo != nil {
		e := ic.outbox.answerTo(in.peer, ic.outbox.replyTargetOf(in), wire.Ack)
		e.ID, e.TTL = newID(), wire.DefaultTTL
		e.Payload.Body = "Noted: " + string(effect)
		e.Payload.Metadata = wire.Object{}.With("status", string(effect)).With("incident", incident.ID)
		o := ic.outbox.answer(in.peer, e, ic.outbox.replyTargetOf(in))
		o.Once = true
		if err := ic.outbox.enqueue(ctx, o); err != nil {
			return "", err
		}
	}
	return string(effect), nil
}

// judge assigns an alert to an incident and notifies people if it changes the incident. summarize
// repeats a notification that failed.
func (ic *incidents) judge(ctx context.Context, in *incoming) (state.AlertEffect, state.Incident, error) {
	ic.notifying.Lock()
	defer ic.notifying.Unlock()
	effect, incident, err := ic.store.Judge(ic.cfg.Policy(), alertOf(in))
	if err == nil && effect != state.Suppressed {
		ic.notify(ctx, incident, in.Payload.Body)
	}
	return effect, incident, err
}

// alertOf reads an alert from a message, with the metadata host, check, scope and status.
func alertOf(in *incoming) state.Alert {
	meta := in.Payload.Metadata
	subject := cmp.Or(strings.TrimSpace(in.Payload.Subject), strings.TrimSpace(in.Payload.Body))
	a := state.Alert{Host: cmp.Or(meta.Get("host"), in.From), Check: meta.Get("check"), Group: meta.Get("scope"), Subject: subject, At: in.Time, Recovery: isRecovery(meta.Get("status"), subject, in.Payload.Body)}
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

// recoveries are the words at the beginning of an alert that report a recovery.
var recoveries = []string{"resolved", "recovered", "recovery", "back online", "cleared"}

// isRecovery reports whether an alert reports a recovery.
func isRecovery(status string, texts ...string) bool {
	switch strings.ToLower(status) {
	case "":
	case "resolved", "recovered", "recovery", "ok", "up":
		return true
	default:
		return false
	}
	return slices.ContainsFunc(texts, func(text string) bool { word, _ := recoveryWord(text); return word != "" })
}

// recoveryWord splits a text into the recovery word at its beginning and the rest.
func recoveryWord(text string) (word, rest string) {
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
	_, rest := recoveryWord(text)
	return rest
}

// notify notifies people of the pending change of an incident: in the log, by a notification, and
// through the peers in Config.Notify. The caller holds ic.notifying.
func (ic *incidents) notify(ctx context.Context, i state.Incident, text string) {
	what := string(i.Pending)
	ic.shared.notify(mess.Elevated, fmt.Sprintf("[%s] %s", what, i.Scope), incidentText(what, i, text))
	ic.log.Warn("mesh: alert", "what", what, "incident", i.ID, "scope", i.Scope, "alerts", i.AlertCount, "text", clip(text, maxLogged, ""))
	for _, name := range ic.cfg.Notify {
		p := ic.registry.Peer(name)
		e := wire.Envelope{
			ID: newID(), Time: time.Now(), From: ic.cfg.Agent, To: name, Type: wire.Notification, Priority: wire.High, TTL: wire.DefaultTTL, Nonce: newNonce(),
			Payload: wire.Payload{
				Subject: fmt.Sprintf("[%s] %s", what, i.Scope), Body: incidentText(what, i, text),
				Metadata: wire.Object{}.With("incident", i.ID).With("status", what),
			},
		}
		if err := ic.outbox.enqueue(ctx, ic.outbox.prepare(p, e, false)); err != nil {
			ic.log.Error("mesh: cannot notify a peer of an incident yet", "to", name, "err", err)
			return
		}
	}
	if err := ic.store.MarkReported(i.ID); err != nil {
		ic.log.Warn("mesh: a notification of an incident may go out again", "incident", i.ID, "err", err)
	}
}

// maxLogged is the largest part of a text in the log, in bytes.
const maxLogged = 200

// incidentText describes an incident.
func incidentText(what string, i state.Incident, text string) string {
	s := fmt.Sprintf("%s: %s, %d alerts since %s", what, cmp.Or(i.Subject, i.Scope), i.AlertCount, i.FirstSeen.UTC().Format(time.RFC3339))
	if len(i.AffectedHosts) > 0 {
		s += "; hosts: " + strings.Join(i.AffectedHosts, ", ")
	}
	if text != "" {
		s += "\n" + clipBody(text)
	}
	return s
}

// summarize notifies people of lasting incidents as the policy says, until ctx ends.
func (ic *incidents) summarize(ctx context.Context) {
	for {
		ic.notifyDue(ctx)
		if !wait.For(ctx, summaryEvery) {
			return
		}
	}
}

// notifyDue sends the notifications that are due now, and those that failed before.
func (ic *incidents) notifyDue(ctx context.Context) {
	ic.notifying.Lock()
	defer ic.notifying.Unlock()
	if _, _, err := ic.store.Summaries(ic.cfg.Policy()); err != nil {
		ic.log.Warn("mesh: cannot store incidents", "err", err)
	}
	for _, i := range ic.store.Pending() {
		ic.notify(ctx, i, "")
	}
}

// summaryEvery is the time between two summaries.
const summaryEvery = time.Minute
