package exchange

import (
	"context"
	"errors"
	"slices"

	"github.com/messkit/messkit/exchange/transition"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// contextRefs returns the requests that the context of a request names (MESS 1.0 section 2.4): by
// entries of type ref, or by a field ref.
func contextRefs(r *mess.Request) (names []string) {
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

// withContextRefs adds to each ref in the context of a request the thread, its intent and its
// images. The executor needs them because it does not know the ids of the requester, and may not
// read every thread. The error is a *mess.Error for an unknown request.
func (x *Exchange) withContextRefs(ctx context.Context, s submission) (*mess.Request, error) {
	names := contextRefs(s.req)
	if len(names) == 0 {
		return s.req, nil
	}
	known := map[string]Thread{}
	for _, name := range names {
		at := name
		if ref, ok := s.batch[name]; ok && ref == name {
			continue // the thread does not exist yet
		} else if ok {
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
		if list := imagesOf(known[name]); len(list) > 0 {
			req.Context[i].Extra = req.Context[i].Extra.Set("pictures", list)
		}
	}
	return &req, nil
}

// withoutContextRefs removes what withContextRefs has added, because "last" names another thread
// when the same message arrives again.
func withoutContextRefs(r *mess.Request) mess.Request {
	req := *r
	req.Context = slices.Clone(req.Context)
	for i, e := range req.Context {
		if e.Type == "ref" {
			req.Context[i].Extra = slices.DeleteFunc(slices.Clone(e.Extra), func(f mess.Field) bool { return f.Key == "thread" || f.Key == "intent" || f.Key == "pictures" })
		}
	}
	return req
}

// EarlierKey is the field of an image in a response that names the earlier thread of the image.
const EarlierKey = "earlier"

// maxEarlierImages is the number of images of an earlier thread in a request: the last ones.
const maxEarlierImages = 8

// imagesOf returns the images of the executors of a thread, in the form in which a response
// delivers them again.
func imagesOf(t Thread) (list []any) {
	for _, m := range t.Messages {
		for _, item := range m.Items {
			for _, e := range messeaf.Content(item) {
				f, ok := e.Media()
				if !ok || e.Type != "image" || m.From == t.Requester || !messeaf.ValidAttachment(f.File) || f.SHA256 == "" {
					continue
				}
				f.URI, f.Resource, f.Name, f.Extra = "", "", "", mess.Object{{Key: EarlierKey, Value: t.Ref}}
				list = append(list, mess.ObjectEntry("image", f).Value)
			}
		}
	}
	return list[max(0, len(list)-maxEarlierImages):]
}

// copyEarlierImages stages the bytes of the earlier images in a message. It rejects an image that
// the named thread does not have, because the time and the ref of an image must be true.
func (x *Exchange) copyEarlierImages(ctx context.Context, t *transition.Effect) error {
	for _, item := range t.Message.Items {
		for _, e := range messeaf.Content(item) {
			f, ok := e.Media()
			if ref := f.Extra.Text(EarlierKey); ok && ref != "" {
				if err := x.copyEarlierImage(ctx, t, ref, f); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (x *Exchange) copyEarlierImage(ctx context.Context, t *transition.Effect, ref string, f mess.Media) error {
	own, err := x.read(ctx, t.Env.Ref)
	if err != nil {
		return x.storeError(err)
	}
	none := mess.Errorf(mess.MissingReference, "image: earlier: %.60q has no such picture, or the request does not mention it", ref)
	if !slices.ContainsFunc(own.Request().Context, func(e mess.Entry) bool { return e.Type == "ref" && e.Extra.Text("thread") == ref }) {
		return none
	}
	was, err := x.read(ctx, ref)
	if err != nil {
		return none
	}
	list := imagesOf(was)
	i := slices.IndexFunc(list, func(one any) bool {
		m, _ := mess.Entry{Type: "image", Value: one}.Media()
		return m.SHA256 == f.SHA256 && m.CapturedAt == f.CapturedAt
	})
	if i < 0 {
		return none
	}
	m, _ := mess.Entry{Type: "image", Value: list[i]}.Media()
	data, err := x.openFile(ctx, ref, m.File, m.SHA256)
	if err != nil {
		return none
	}
	defer data.Close() //nolint:errcheck // it was only read
	if _, err := x.store.Stage(ctx, data, x.cfg.MaxAttachment); err != nil {
		return x.storeError(err)
	}
	return nil
}
