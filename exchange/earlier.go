package exchange

import (
	"context"
	"slices"

	"github.com/messkit/messkit/exchange/transition"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// EarlierKey marks a picture of a response as one that an earlier thread has: its ref.
const EarlierKey = "earlier"

// maxMentioned is how many pictures of a mentioned thread an executor hears of, the last
// ones.
const maxMentioned = 8

// picturesOf are the pictures that executors have given in a thread, as an executor that
// delivers one again writes them.
func picturesOf(t Thread) (list []any) {
	for _, m := range t.Messages {
		for _, item := range m.Items {
			for _, e := range messeaf.Content(item) {
				f, ok := e.Media()
				if !ok || e.Type != "image" || m.From == t.Requestor || !messeaf.ValidAttachment(f.File) || f.SHA256 == "" {
					continue
				}
				f.URI, f.Resource, f.Name, f.Extra = "", "", "", mess.Object{{Key: EarlierKey, Value: t.Ref}}
				list = append(list, mess.ObjectEntry("image", f).Value)
			}
		}
	}
	return list[max(0, len(list)-maxMentioned):]
}

// bringEarlier has the bytes of the earlier pictures that a message names beside the thread.
// It refuses what claims to be one and is none: such a picture was taken for another request,
// and its time and ref are the earlier thread's.
func (x *Exchange) bringEarlier(ctx context.Context, t *transition.Effect) error {
	for _, item := range t.Message.Items {
		for _, e := range messeaf.Content(item) {
			f, ok := e.Media()
			if ref := f.Extra.Text(EarlierKey); ok && ref != "" {
				if err := x.bringOne(ctx, t, ref, f); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (x *Exchange) bringOne(ctx context.Context, t *transition.Effect, ref string, f mess.Media) error {
	own, err := x.read(ctx, t.Env.Ref)
	if err != nil {
		return x.broken(err)
	}
	none := mess.Errorf(mess.MissingReference, "image: earlier: %.60q has no such picture, or the request does not mention it", ref)
	if !slices.ContainsFunc(own.Request().Context, func(e mess.Entry) bool { return e.Type == "ref" && e.Extra.Text("thread") == ref }) {
		return none
	}
	was, err := x.read(ctx, ref)
	if err != nil {
		return none
	}
	list := picturesOf(was)
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
		return x.broken(err)
	}
	return nil
}
