package exchange

import (
	"context"
	"errors"
	"slices"

	"github.com/messkit/messkit/mess"
)

// mentioned are the requests that a request names in its context (MESS 1.0 section 2.4):
// by an entry of type ref, or by a key ref of its own.
func mentioned(r *mess.Request) (names []string) {
	for _, e := range r.Context {
		if name, ok := e.Value.(string); ok && e.Type == "ref" {
			names = append(names, name)
		}
	}
	if name := r.Extra.Text("ref"); name != "" {
		names = append(names, name)
	}
	return names
}

// withMentions is the request with what the exchange knows of the requests in its context:
// each entry of type ref gets the thread, its intent and its pictures, because an executor does not know
// the requester's ids and may not read every thread. It refuses a name of no request.
func (x *Exchange) withMentions(ctx context.Context, s submission) (*mess.Request, error) {
	names := mentioned(s.req)
	if len(names) == 0 {
		return s.req, nil
	}
	known := map[string]Thread{}
	for _, name := range names {
		at := name
		if ref, ok := s.batch[name]; ok {
			at = ref
		}
		t, err := x.Thread(ctx, s.in.Actor, at)
		switch {
		case errors.Is(err, mess.NotFound):
			return nil, mess.Errorf(mess.MissingReference, "request.context: ref: there is no request %.60q; send it first, or leave the entry out", name)
		case err != nil:
			return nil, err
		}
		known[name] = t
	}
	req := *s.req
	req.Context = slices.Clone(req.Context)
	for i, e := range req.Context {
		name, ok := e.Value.(string)
		if !ok || e.Type != "ref" {
			continue
		}
		req.Context[i].Extra = slices.Clone(e.Extra).Set("thread", known[name].Ref).Set("intent", known[name].Intent)
		if list := picturesOf(known[name]); len(list) > 0 {
			req.Context[i].Extra = req.Context[i].Extra.Set("pictures", list)
		}
	}
	return &req, nil
}

// withoutMentions is a request as its requester wrote it: "last" names another request when
// the same message comes again.
func withoutMentions(r *mess.Request) mess.Request {
	req := *r
	req.Context = slices.Clone(req.Context)
	for i, e := range req.Context {
		if e.Type == "ref" {
			req.Context[i].Extra = slices.DeleteFunc(slices.Clone(e.Extra), func(f mess.Field) bool { return f.Key == "thread" || f.Key == "intent" || f.Key == "pictures" })
		}
	}
	return req
}
