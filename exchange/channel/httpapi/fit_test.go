package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"testing"

	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/internal/picture"
)

// noiseImage returns a PNG image with a poor compression ratio.
func noiseImage(t *testing.T) string {
	t.Helper()
	m, r := image.NewRGBA(image.Rect(0, 0, 320, 240)), rand.New(rand.NewPCG(1, 2))
	for i := range m.Pix {
		m.Pix[i] = uint8(r.Uint32())
		if i%4 == 3 {
			m.Pix[i] = 255
		}
	}
	m.Set(0, 0, color.White)
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The server scales an uploaded image down on request, and otherwise returns it unchanged.
func TestImageFitsOnRequest(t *testing.T) {
	const most = 40 << 10
	made := 0
	h := startHarness(t, httpapi.Config{FitImage: func(ctx context.Context, data []byte, size string) ([]byte, string, error) {
		if size != "40KB" {
			return nil, "", errors.New("is no size")
		}
		made++
		p, err := picture.Fit(ctx, data, picture.Limits{MaxBytes: most})
		return p.Data, p.MIME, err
	}})
	phone, other := h.register("phone", `"x"`), h.register("other", `"y"`)
	one := root + "/requests/" + h.create(h.op, `{"intent":"look","requires":["x"]}`)
	h.want(h.do("PATCH", one, phone, holding), 200, "")
	large := noiseImage(t)
	h.wantReadableError("not his", h.do("PUT", one+"/attachments/a.png?fit=40KB", other, large, "Content-Type", "image/png"), 404)
	if made > 0 {
		t.Error("a picture was made smaller for one who may not upload it")
	}
	small := h.do("PUT", one+"/attachments/a.png?fit=40KB", phone, large, "Content-Type", "image/png")
	if small.code != 200 || small.field("mime") != "image/jpeg" || small.field("file") != "a.jpg" {
		t.Fatalf("%d %s", small.code, small.body)
	}
	whole := h.do("PUT", one+"/attachments/b.png", phone, large, "Content-Type", "image/png")
	for _, up := range []reply{small, whole} {
		h.want(h.do("PATCH", one, phone, `{"mess":[{"status":{"code":"in_progress"}},{"response":{"content":[{"image":`+up.body+`}]}}]}`), 200, "")
		name := newestAttachment(h, one, h.op)
		r := h.do("GET", one+"/attachments/"+name, h.op, "")
		if kept := len(r.body) > most; r.code != 200 || kept != (up.body == whole.body) || kept && r.head.Get("Content-Type") != "image/png" {
			t.Errorf("%s: %d, %d bytes, %v", name, r.code, len(r.body), r.head)
		}
		if r := h.do("GET", one+"/attachments/"+name+"?fit=40KB", h.op, ""); r.code != 200 || len(r.body) > most || r.head.Get("Content-Type") != "image/jpeg" {
			t.Errorf("%s, fitted: %d, %d bytes, %v", name, r.code, len(r.body), r.head)
		}
		h.wantReadableError("no size", h.do("GET", one+"/attachments/"+name+"?fit=x", h.op, ""), 400)
	}
	h.wantReadableError("no picture", h.do("PUT", one+"/attachments/a.txt?fit=40KB", phone, "words", "Content-Type", "text/plain"), 400)
	h = startHarness(t, httpapi.Config{})
	one = root + "/requests/" + h.create(h.op, `{"intent":"look"}`)
	h.wantReadableError("not here", h.do("PUT", one+"/attachments/a.png?fit=40KB", h.op, large), 400)
}
