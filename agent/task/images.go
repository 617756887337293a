package task

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/agent/action"
	"github.com/messkit/messkit/agent/session"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/mess"
)

// uploadImages uploads images and returns the content entries for them. It describes missing images
// in words.
func (t *task) uploadImages(ctx context.Context, images []action.Image) (content []mess.Entry, trouble []string) {
	for _, s := range images {
		e, err := t.uploadImage(ctx, s)
		if err != nil {
			t.Log.Warn("the agent could not deliver a picture", "ref", t.ref, "err", err)
			trouble = append(trouble, fmt.Sprintf("the agent could not deliver the picture %s: %v", s.Name, err))
			continue
		}
		content = append(content, e)
	}
	return content, trouble
}

func (t *task) uploadImage(ctx context.Context, s action.Image) (mess.Entry, error) {
	p, err := t.Devices.Cameras.Fit(ctx, s.Image, t.imageLimits())
	if err != nil {
		return mess.Entry{}, err
	}
	pause := t.Session.Backoff()
	for {
		m, err := t.Session.Attach(ctx, t.ref, s.Name+extension(p.MIME), p.MIME, bytes.NewReader(p.Data))
		if session.IsUnavailable(err) && ctx.Err() == nil && pause.Sleep(ctx) {
			continue
		}
		if err != nil {
			return mess.Entry{}, err
		}
		if m.File == "" { // the exchange stores no files: use the short form, which every client reads
			extra := append(mess.Object{{Key: "captured_at", Value: string(wording.UTC(s.CapturedAt))}}, wording.Aged(s.CapturedAt, t.ended, t.Session.ClockMark())...)
			extra = slices.DeleteFunc(extra, func(f mess.Field) bool { return f.Key == "at" })
			return mess.Entry{Type: "image", Value: m.URI, Extra: extra}, nil
		}
		m.CapturedAt = wording.UTC(s.CapturedAt)
		for _, f := range wording.Aged(s.CapturedAt, t.ended, t.Session.ClockMark()) {
			if f.Key != "at" { // captured_at already has it
				m.Extra = append(m.Extra, f)
			}
		}
		return mess.MediaEntry("image", m), nil
	}
}

// imageLimits returns the limits for images of this request: the hint's max_bytes, and max_px along
// the longer edge. It ignores values that are not positive numbers.
func (t *task) imageLimits() picture.Limits {
	lim := picture.Limits{MaxBytes: picture.Ceiling}
	for _, h := range t.req.ResponseHint {
		if spec, ok := h.Spec.(mess.Object); ok && h.Type == "image" {
			if n := positive(spec, "max_bytes"); n > 0 {
				lim.MaxBytes = min(n, picture.Ceiling) // a requester may lower the limit, and not raise it
			}
			lim.MaxPx = positive(spec, "max_px")
			break
		}
	}
	return lim
}

func positive(o mess.Object, key string) int {
	v, _ := o.Get(key)
	n, ok := v.(mess.Number)
	if !ok {
		return 0
	}
	i, err := n.Int64()
	if err != nil || i < 0 || i > 1<<31-1 {
		return 0
	}
	return int(i)
}

// extension returns the file extension for an image type.
func extension(mime string) string {
	kind, ok := strings.CutPrefix(mime, "image/")
	if !ok || strings.ContainsAny(kind, "/.;+ ") {
		return ""
	}
	if kind == "jpeg" {
		kind = "jpg"
	}
	return "." + kind
}
