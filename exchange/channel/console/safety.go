package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// exchangeTime is how long a stop waits for the exchange before it stops the local executor
// directly.
const exchangeTime = 300 * time.Millisecond

// stop stops everything: {why}, or the form of the page. Every actor that sees the page may
// stop, with any role. If the exchange hangs, stop still stops the local executor.
func (g *request) stop() error {
	by := g.actor
	by.Roles |= exchange.Requester
	reason, form := g.readReason()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(g.r.Context()), 30*time.Second)
	type taken struct {
		stop mess.Stop
		err  error
	}
	done := make(chan taken, 1)
	go func() { // the goroutine may outlive this call
		defer cancel()
		s, err := g.x.Stop(ctx, by, mess.Stop{Reason: reason})
		done <- taken{s, err}
	}()
	var t taken
	select {
	case t = <-done:
	case <-time.After(exchangeTime):
		t.err = errors.New("the exchange does not answer")
	}
	text := "Stopped. The exchange has sent the order to every executor."
	if n := t.stop.Ending; n > 0 {
		text += fmt.Sprintf(" %d of the requests that waited are still ending; none of them can begin.", n)
	}
	if t.err != nil {
		if g.cfg.LocalExecutor != nil { // before the log call, which may hang as well
			g.cfg.LocalExecutor.Stop(g.actor.ID, reason)
		}
		g.log.Error("the exchange did not take a stop", "actor", g.actor.ID, "err", t.err)
		text = "The exchange could not pass the stop on (" + t.err.Error() + ")."
		if g.cfg.LocalExecutor == nil {
			return mess.Errorf(mess.Unavailable, "%s Stop each executor on its host: messkit stop", text)
		}
		text += " The executor here has stopped; stop others on their hosts: messkit stop."
	}
	if form {
		writeText(g.w, text)
		return nil
	}
	writeJSON(g.w, http.StatusAccepted, map[string]any{"stop": t.stop, "text": text, "passed": t.err == nil})
	return nil
}

// readReason reads the reason of a stop, and whether a form has sent it. No reason is invalid.
func (g *request) readReason() (reason string, form bool) {
	data, err := io.ReadAll(g.r.Body)
	if err != nil {
		return "", false
	}
	kind, _, _ := mime.ParseMediaType(g.r.Header.Get("Content-Type"))
	if kind == "application/x-www-form-urlencoded" {
		values, _ := url.ParseQuery(string(data))
		return values.Get("why"), true
	}
	var in struct {
		Reason string `json:"why"`
	}
	_ = json.Unmarshal(data, &in)
	return in.Reason, false
}

// writeText answers a form, where no script runs.
func writeText(w http.ResponseWriter, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	_, _ = io.WriteString(w, text+"\nGo back to the page for the state of the devices.\n") // the browser has gone if it fails
}

// requireLocal rejects callers that are not on the host, with the command to run there.
func (g *request) requireLocal(command string) error {
	switch {
	case g.cfg.LocalExecutor == nil:
		return errNoLocalExecutor
	case !isLocal(g.r):
		return mess.Errorf(mess.Forbidden, "only a person on the host may do this; check the devices, and then run there: %s, or use this page in a browser there", command)
	}
	return nil
}

// resetStop resets a stop for a person on the host: {code, anyway}. If some devices may be unsafe
// and anyway is false, it names them and resets nothing.
func (g *request) resetStop() error {
	if err := g.requireLocal("messkit clear"); err != nil {
		return err
	}
	var in struct {
		Code   string
		Anyway bool
	}
	if err := g.readBody(&in); err != nil {
		return err
	}
	var cleared []string
	if err := g.permitActing(in.Code, func() (err error) {
		cleared, err = g.cfg.LocalExecutor.ResetStop(g.actor.ID+" on the host", in.Anyway)
		return err
	}); err != nil {
		return err
	}
	g.local.Changed()
	g.log.Warn("stop released", "actor", g.actor.ID)
	writeJSON(g.w, http.StatusOK, map[string]any{"cleared": cleared})
	return nil
}

// permitActing calls act if the exchange has proof of a person behind the request.
func (g *request) permitActing(code string, act func() error) error {
	return g.x.Release(exchange.ProofIn(g.r.Context()), code, func() error { return asConflict(act()) })
}

func asConflict(err error) error {
	if err != nil {
		return mess.Errorf(mess.Conflict, "%v", err)
	}
	return nil
}

// arm takes {do: arm, disarm, lock or unlock, what, why, code}. arm and unlock need a person on
// the host.
func (g *request) arm() error {
	var in struct {
		Do, What, Code string
		Reason         string `json:"why"`
	}
	if err := g.readBody(&in); err != nil {
		return err
	}
	if g.cfg.LocalExecutor == nil {
		return errNoLocalExecutor
	}
	if len(in.Reason) > 200 {
		return mess.Errorf(mess.Invalid, "why: %d bytes are too much; write 200 at most", len(in.Reason))
	}
	if in.Do == "arm" || in.Do == "unlock" {
		if err := g.requireLocal("messkit " + in.Do); err != nil {
			return err
		}
	}
	var err error
	switch in.Do {
	case "arm":
		err = g.permitActing(in.Code, func() error { return g.cfg.LocalExecutor.Arm(in.What) })
	case "disarm":
		err = asConflict(g.cfg.LocalExecutor.Disarm(in.What, in.Reason))
	case "lock":
		err = asConflict(g.cfg.LocalExecutor.Lock(in.What, in.Reason))
	case "unlock":
		err = g.permitActing(in.Code, func() error { return g.cfg.LocalExecutor.Unlock(in.What) })
	default:
		return mess.Errorf(mess.Invalid, "do: %.20q is unknown; write arm, disarm, lock or unlock", in.Do)
	}
	if err != nil {
		return err
	}
	g.local.Changed()
	g.log.Warn(in.Do, "actor", g.actor.ID, "device", in.What)
	writeJSON(g.w, http.StatusOK, map[string]bool{"done": true})
	return nil
}

// confirmCode sends the code that confirms the question of a thread: {ref}. Without ref, the
// code resets a stop, arms or releases a lockout.
func (g *request) confirmCode() error {
	var in struct{ Ref string }
	if err := g.readBody(&in); err != nil {
		return err
	}
	text, ends, err := g.x.ConfirmCode(g.actor, exchange.ProofIn(g.r.Context()), in.Ref)
	if err != nil {
		return err
	}
	g.log.Info("confirmation code shown", "actor", g.actor.ID, "ref", in.Ref)
	writeJSON(g.w, http.StatusCreated, map[string]string{"code": text, "until": ends.UTC().Format(time.RFC3339)})
	return nil
}

// isByPerson reports whether a person makes the call, at a terminal or on the page.
func (g *request) isByPerson() bool { return exchange.ProofIn(g.r.Context()) != exchange.ByKey }
