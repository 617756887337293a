package agentmail_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/mess"
)

// noise returns an image that no encoder makes small.
func noise(t *testing.T) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	img := image.NewNRGBA(image.Rect(0, 0, 1600, 1200))
	for i := range img.Pix {
		img.Pix[i] = byte(r.UintN(256))
	}
	for y := range 1200 {
		img.SetNRGBA(0, y, color.NRGBA{A: 255})
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A mail has at most 300 KB with all its images, which the outbox scales. They stay readable, and
// the exchange has the originals.
func TestImagesAreScaledForMail(t *testing.T) {
	h := newFixture(t, server(t), "Kitchen-1", bossOnly)
	h.assign("bd-1", assignment("msg-1", "bd-1", "wait"))
	begun := h.waitForMails(boss, func(all []agentMessage) bool {
		return len(all) > 0 && strings.Contains(all[len(all)-1].Mail.Body, "begun")
	})
	ref := begun[len(begun)-1].ref()
	whole := noise(t)
	content := []mess.Entry{mess.TextEntry("three pictures")}
	for _, name := range []string{"a.jpg", "b.jpg", "c.jpg"} {
		media, err := h.Attach(t.Context(), ref, name, "image/jpeg", bytes.NewReader(whole))
		if err != nil {
			t.Fatal(err)
		}
		content = append(content, mess.MediaEntry("image", media))
	}
	media, err := h.Attach(t.Context(), ref, "log.bin", "application/octet-stream", bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	content = append(content, mess.MediaEntry("file", media))
	if _, err := h.Send(t.Context(), mess.Message{Re: mess.Refs{ref}, Items: []mess.Item{&mess.Status{Code: mess.Completed}, &mess.Response{Content: content}}}); err != nil {
		t.Fatal(err)
	}
	end := h.until(boss, "bd-1", format.TypeTaskCompletion)
	if n := len(end.Mail.Body); n > 300_000 || n < 100_000 {
		t.Errorf("the mail has %d bytes", n)
	}
	items, _, err := format.Carried(end.Message.Body)
	if err != nil || len(items) != 2 {
		t.Fatal(items, err)
	}
	got := items[1].(*mess.Response).Content
	for _, e := range got[1:4] {
		m, _ := e.Media()
		_, data, _ := mess.ParseDataURI(m.URI)
		c, err := jpeg.DecodeConfig(bytes.NewReader(data))
		note, _ := m.Extra.Get("note")
		if err != nil || c.Width > 1280 || c.Width < 200 || m.Size == nil || *m.Size != int64(len(data)) || m.SHA256 != "" || note == nil || !strings.HasPrefix(m.Resource, "content://") {
			t.Errorf("%v: %d bytes, %+v %v %q", err, len(data), c, note, m.Resource)
		}
	}
	if m, _ := got[4].Media(); m.URI != "" || m.Resource == "" {
		t.Errorf("the file that does not fit: %q %q", m.URI, m.Resource)
	}
}
