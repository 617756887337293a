package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/mess"
)

// helper is the role of a human executor on the page: it takes tasks, and has no access to the home.
const helper = "helper"

// personJSON is a person as the page shows it.
type personJSON struct {
	Actor string `json:"actor"`
	Name  string `json:"name"`
	keys.Access
	Ended    bool          `json:"ended,omitempty"` // the access is over
	Owner    bool          `json:"owner,omitempty"` // the operator of the data folder: cannot be changed
	Used     *time.Time    `json:"used,omitempty"`  // a browser of this person was last seen
	Browsers []browserJSON `json:"browsers"`
}

// invitationJSON is an open invitation.
type invitationJSON struct {
	ID    string `json:"id"`
	Actor string `json:"actor"`
	Name  string `json:"name"`
	Role  string `json:"role"`
	Ends  string `json:"ends"`
}

// listPeople lists everybody who can sign in on a page, and the open invitations.
func (g *request) listPeople() error {
	people := map[string]*personJSON{}
	for _, p := range g.keys.Persons() {
		people[p.Actor] = &personJSON{Actor: p.Actor, Name: p.Name, Access: p.Access, Ended: p.Ended()}
	}
	for _, e := range g.x.Executors() {
		if exchange.IsPerson(e.Executor) && people[e.ID] == nil {
			people[e.ID] = &personJSON{Actor: e.ID, Name: cmp.Or(e.Name, e.ID), Access: keys.Access{Role: helper}}
		}
	}
	people[keys.OperatorID] = &personJSON{Actor: keys.OperatorID, Name: keys.OperatorID, Access: keys.Access{Role: keys.PersonOperator}, Owner: true}
	list := make([]personJSON, 0, len(people))
	for _, p := range people {
		p.Browsers = g.browsersOf(p.Actor, g.r)
		for _, b := range p.Browsers {
			if p.Used == nil || b.Used.After(*p.Used) {
				p.Used = &b.Used
			}
		}
		list = append(list, *p)
	}
	order.By(list, func(a, b personJSON) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.Actor, b.Actor))
	})
	writeJSON(g.w, http.StatusOK, map[string]any{"people": list, "invitations": g.invitations()})
	return nil
}

// changePeople takes {do: change, actor, role, until, areas, entry}, {do: remove, actor}, {do:
// sign-out, actor, browser}, where no browser means all, and {do: withdraw, invitation}.
func (g *request) changePeople() error {
	var in struct {
		Do, Actor, Browser, Invitation string
		keys.Access
	}
	if err := g.readBody(&in); err != nil {
		return err
	}
	var err error
	note := ""
	switch in.Do {
	case "change":
		err = g.changeAccess(in.Actor, in.Access)
	case "remove":
		note, err = g.removePerson(in.Actor)
	case "sign-out":
		err = g.endBrowsers(g.r.Context(), in.Actor, in.Browser)
	case "withdraw":
		err = g.withdraw(g.r.Context(), in.Invitation)
	default:
		err = mess.Errorf(mess.Invalid, "do: %.20q is unknown; write change, remove, sign-out or withdraw", in.Do)
	}
	if err != nil {
		return err
	}
	g.log.Info("people changed", "actor", g.actor.ID, "do", in.Do, "person", in.Actor, "role", in.Role)
	v := map[string]any{"done": true}
	if note != "" {
		v["note"] = note
	}
	writeJSON(g.w, http.StatusOK, v)
	return nil
}

// checkMaker returns an error unless the caller may give an access: that of an operator comes only
// from a person.
func (g *request) checkMaker(a keys.Access) error {
	if a.Role == keys.PersonOperator && !g.isByPerson() {
		return mess.Errorf(mess.Forbidden, "role: only a person makes an operator, in a browser that was signed in from a terminal or from such a page, or at a terminal of the exchange's machine")
	}
	return nil
}

func (g *request) changeAccess(actor string, a keys.Access) error {
	if actor == g.actor.ID {
		return mess.Errorf(mess.Conflict, "actor: nobody changes the own access; ask another operator")
	}
	if err := g.checkMaker(a); err != nil {
		return err
	}
	return g.keys.SetAccess(actor, a)
}

// removePerson ends the key and the browsers of a person, and the registration of a human executor.
// note says that the registration of a live one stays.
func (g *request) removePerson(actor string) (note string, err error) {
	_, isPerson := g.keys.Person(actor)
	e, known := g.x.Executor(actor)
	works := known && exchange.IsPerson(e.Executor)
	switch {
	case actor == g.actor.ID:
		return "", mess.Errorf(mess.Conflict, "actor: nobody removes themselves; ask another operator")
	case !isPerson && !works:
		return "", mess.Errorf(mess.NotFound, "actor: %.60q is no person here", actor)
	}
	if _, err := g.keys.Revoke(actor); err != nil {
		return "", err
	}
	if err := g.dropSessions(g.r.Context(), func(_ string, s session) bool { return s.Actor == actor }); err != nil {
		return "", err
	}
	if g.cfg.Notices != nil {
		if err := g.cfg.Notices.Forget(g.r.Context(), actor); err != nil {
			return "", err
		}
	}
	if err := g.x.SaveChannelState(g.r.Context(), settingsChannel, settingsName(actor), nil); err != nil {
		return "", err
	}
	if !works {
		return "", nil
	}
	_, err = g.x.Deregister(g.r.Context(), g.actor, actor)
	if r, ok := errors.AsType[*mess.Error](err); ok && r.Code == mess.NotYet {
		return actor + " cannot sign in any more, and stays in the list for now: " + r.Text, nil
	}
	return "", err
}

// endBrowsers signs out one browser of an actor, or all of them for "".
func (g *request) endBrowsers(ctx context.Context, actor, browser string) error {
	found := false
	err := g.dropSessions(ctx, func(name string, s session) bool {
		hit := s.Actor == actor && (browser == "" || browserID(name) == browser)
		found = found || hit
		return hit
	})
	if err == nil && !found {
		return mess.Errorf(mess.NotFound, "browser: %.60s has no such browser; it has signed out already", actor)
	}
	return err
}

// invitations lists the open invitations, the one that ends first at the beginning.
func (c *Console) invitations() []invitationJSON {
	list := []invitationJSON{}
	for name, l := range c.links() {
		if l.isInvite() && l.isValid() {
			list = append(list, invitationJSON{browserID(name), l.Actor, l.Name, cmp.Or(l.Access.Role, helper), l.Ends.UTC().Format(time.RFC3339)})
		}
	}
	order.By(list, func(a, b invitationJSON) int {
		return cmp.Or(strings.Compare(a.Ends, b.Ends), strings.Compare(a.ID, b.ID))
	})
	return list
}

// withdraw ends an invitation.
func (c *Console) withdraw(ctx context.Context, id string) error {
	for name, l := range c.links() {
		if l.isInvite() && browserID(name) == id {
			_, err := c.takeLink(ctx, name, l)
			return err
		}
	}
	return mess.Errorf(mess.NotFound, "invitation: there is no such invitation; it has been used, or its time is over")
}

// listBrowsers lists the signed-in browsers of the caller.
func (g *request) listBrowsers() error {
	writeJSON(g.w, http.StatusOK, map[string]any{"browsers": g.browsersOf(g.actor.ID, g.r)})
	return nil
}

// endBrowser signs out a browser of the caller: {browser}, or all others: {others: true}.
func (g *request) endBrowser() error {
	var in struct {
		Browser string
		Others  bool
	}
	if err := g.readBody(&in); err != nil {
		return err
	}
	if (in.Browser == "") != in.Others {
		return mess.Errorf(mess.Invalid, "write {\"browser\": …} or {\"others\": true}")
	}
	own := g.sessionName(g.r)
	err := error(nil)
	if in.Others {
		err = g.dropSessions(g.r.Context(), func(name string, s session) bool { return s.Actor == g.actor.ID && name != own })
	} else {
		err = g.endBrowsers(g.r.Context(), g.actor.ID, in.Browser)
	}
	if err != nil {
		return err
	}
	return g.listBrowsers()
}

// dropSessions removes the sessions that which selects.
func (c *Console) dropSessions(ctx context.Context, which func(name string, s session) bool) error {
	c.mu.Lock()
	var gone []string
	for name, s := range c.sessions {
		if which(name, s) {
			gone = append(gone, name)
		}
	}
	c.mu.Unlock()
	return c.endSessions(ctx, gone)
}
