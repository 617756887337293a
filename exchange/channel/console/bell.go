package console

import (
	"net/http"

	"github.com/messkit/messkit/exchange/notices"
	"github.com/messkit/messkit/mess"
)

var errNoBell = mess.Errorf(mess.NotYet, "this exchange keeps no notices")

// bell answers with the notices that the caller may see, the newest first, or takes {read: [ids]},
// {ref} for all notices of a thread, and {all: true}, which mark them as read.
func (g *request) bell() error {
	if g.cfg.Notices == nil {
		return errNoBell
	}
	if g.r.Method != http.MethodGet {
		if err := g.markRead(); err != nil {
			return err
		}
	}
	writeJSON(g.w, http.StatusOK, map[string]any{"notices": g.cfg.Notices.List(g.actor), "count": g.cfg.Notices.Count(g.actor)})
	return nil
}

func (g *request) markRead() error {
	var in struct {
		Read []string `json:"read"`
		Ref  string   `json:"ref"`
		All  bool     `json:"all"`
	}
	if err := g.readBody(&in); err != nil {
		return err
	}
	if in.Ref != "" {
		for _, n := range g.cfg.Notices.List(g.actor) {
			if n.Ref == in.Ref && !n.Read {
				in.Read = append(in.Read, n.ID)
			}
		}
	}
	switch {
	case in.All:
		return g.cfg.Notices.MarkAll(g.r.Context(), g.actor)
	case len(in.Read) > 0:
		return g.cfg.Notices.Mark(g.r.Context(), g.actor, in.Read)
	case in.Ref != "":
		return nil // it has no unread ones
	}
	return mess.Errorf(mess.Invalid, "read, ref and all: missing; write one of them")
}

// bellCount returns the count of the bell, nil without notices.
func (g *request) bellCount() *notices.Count {
	if g.cfg.Notices == nil {
		return nil
	}
	count := g.cfg.Notices.Count(g.actor)
	return &count
}
