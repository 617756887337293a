package console

import (
	"net/http"
	"time"

	"github.com/messkit/messkit/exchange"
)

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
