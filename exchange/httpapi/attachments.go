package httpapi

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
)

// inline are types that a browser may show; it never runs what they hold.
var inline = []string{"image/jpeg", "image/png", "image/gif", "image/webp", "audio/", "video/", "text/plain"}

func (c *call) download(ref, name string) error {
	data, a, err := c.x.Attachment(c.r.Context(), c.who, ref, name)
	if err != nil {
		return err
	}
	defer data.Close()
	h := c.w.Header()
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("ETag", `"`+a.SHA256+`"`)
	show := false
	for _, t := range inline {
		show = show || strings.HasPrefix(a.MIME, t)
	}
	if !show {
		h.Set("Content-Disposition", `attachment; filename="`+a.Name+`"`)
	}
	h.Set("Content-Type", a.MIME)
	if strings.Contains(a.MIME, "html") || strings.Contains(a.MIME, "xml") {
		h.Set("Content-Type", "application/octet-stream")
	}
	http.ServeContent(c.w, c.r, "", time.Time{}, data)
	return nil
}

// upload stages a file; it becomes part of the thread when a message names it.
func (c *call) upload(ref, name string) error {
	mimeType, _, _ := strings.Cut(c.r.Header.Get("Content-Type"), ";")
	media, err := c.x.Attach(c.r.Context(), c.who, ref, name, strings.TrimSpace(mimeType), c.r.Body)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return mess.Refuse(mess.TooLarge, "%s: larger than %d bytes", name, c.cfg.MaxBody)
	}
	if err != nil {
		return err
	}
	c.json(http.StatusOK, media)
	return nil
}
