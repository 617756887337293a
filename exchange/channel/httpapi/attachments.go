package httpapi

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// unknownType is the media type of unknown bytes.
const unknownType = "application/octet-stream"

// inlineTypes are types that a browser shows and never runs. It saves all others.
var inlineTypes = []string{
	"image/jpeg", "image/png", "image/gif", "image/webp", "image/avif",
	"audio/mpeg", "audio/ogg", "audio/wav", "audio/mp4", "audio/webm", "video/mp4", "video/webm", "video/ogg", "text/plain",
}

func (c *call) download(ref, name string) error {
	data, a, err := c.x.Attachment(c.r.Context(), c.actor, ref, name)
	if err != nil {
		return err
	}
	defer data.Close()
	q, err := c.readQuery()
	if err != nil {
		return err
	}
	if size := q.Get("fit"); size != "" {
		f := fittedImage{c: c, from: data, size: size}
		small, err := io.ReadAll(&f)
		if err == nil {
			c.writeBody(http.StatusOK, f.mime, small)
		}
		return err
	}
	h := c.w.Header()
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("ETag", `"`+a.SHA256+`"`)
	kind, header := servedType(a.MIME, name)
	h.Set("Content-Type", header)
	if !slices.Contains(inlineTypes, kind) {
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	}
	http.ServeContent(&jsonErrorWriter{ResponseWriter: c.w, c: c}, c.r, "", time.Time{}, data)
	return nil
}

// servedType returns the media type of a file, alone and as a header. The sender's type is
// untrusted: pages, drawings with scripts, and scripts and styles go out as bytes.
func servedType(declared, name string) (kind, header string) {
	kind, params, err := mime.ParseMediaType(cmp.Or(declared, mime.TypeByExtension(path.Ext(name))))
	active := func(part string) bool { return strings.Contains(kind, part) }
	if err != nil || slices.ContainsFunc([]string{"html", "xml", "script", "css", "multipart/"}, active) {
		return unknownType, unknownType
	}
	return kind, cmp.Or(mime.FormatMediaType(kind, params), kind)
}

// jsonErrorWriter writes the errors of http.ServeContent as JSON.
type jsonErrorWriter struct {
	http.ResponseWriter
	c      *call
	failed bool
}

func (w *jsonErrorWriter) WriteHeader(code int) {
	if code < http.StatusBadRequest {
		w.ResponseWriter.WriteHeader(code)
		return
	}
	w.failed = true
	w.c.setCommonHeaders() // ServeContent removes some of them
	w.Header().Del("Content-Disposition")
	text := strings.ToLower(http.StatusText(code))
	if code == http.StatusRequestedRangeNotSatisfiable {
		text = "the range lies outside the file; Content-Range says how large that is"
	}
	w.c.writeJSON(code, errorBody{Error: text})
}

func (w *jsonErrorWriter) Write(p []byte) (int, error) {
	if w.failed {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// upload stages a file. It becomes part of the thread when a message names it.
func (c *call) upload(ref, name string) error {
	kind, err := c.uploadType()
	if err != nil {
		return err
	}
	if c.r.Header.Get("Content-Range") != "" { // RFC 9110 section 14.5
		return mess.Errorf(mess.Invalid, "Content-Range: an upload has no parts; send the whole file")
	}
	if err := errors.Join(c.checkEncoding(), c.checkLength(c.cfg.MaxBody)); err != nil {
		return err
	}
	q, err := c.readQuery()
	if err != nil {
		return err
	}
	body := &uploadBody{r: c.r.Body}
	f := fittedImage{c: c, from: body, size: q.Get("fit")}
	var data io.Reader = body
	if f.size != "" {
		data = &f
	}
	media, err := c.x.Attach(c.r.Context(), c.actor, ref, name, kind, data)
	if f.mime != "" && f.mime != media.MIME {
		media.MIME, media.File = f.mime, strings.TrimSuffix(media.File, path.Ext(media.File))+messeaf.Extension(f.mime)
	}
	if body.err != nil && (err != nil || errors.As(body.err, new(*http.MaxBytesError))) {
		return c.bodyError(body.err)
	}
	if err != nil {
		return err
	}
	c.writeJSON(http.StatusOK, media)
	return nil
}

// fittedImage shrinks an image at the first Read, so a rejected caller costs nothing.
type fittedImage struct {
	c    *call
	from io.Reader
	size string        // from the query
	mime string        // "" before the first Read
	data *bytes.Reader // nil before the first Read
}

func (f *fittedImage) Read(p []byte) (int, error) {
	if f.data == nil {
		if f.c.cfg.FitImage == nil {
			return 0, mess.Errorf(mess.Invalid, "fit: this exchange does not shrink images; leave it out")
		}
		all, err := io.ReadAll(f.from)
		if err != nil {
			return 0, err
		}
		small, mimeType, err := f.c.cfg.FitImage(f.c.r.Context(), all, f.size)
		if err != nil {
			return 0, mess.Errorf(mess.Invalid, "fit: %v", err)
		}
		f.data, f.mime = bytes.NewReader(small), mimeType
	}
	return f.data.Read(p)
}

// uploadType returns the media type of an uploaded file, or "" to derive it from its name. The
// type of a form says nothing about the file.
func (c *requestBody) uploadType() (string, error) {
	header := c.r.Header.Get("Content-Type")
	if header == "" {
		return "", nil
	}
	kind, _, err := mime.ParseMediaType(header)
	if err != nil || !strings.Contains(kind, "/") {
		return "", &httpError{http.StatusUnsupportedMediaType, "the content type is invalid; send the file's, such as image/jpeg"}
	}
	if kind == "application/x-www-form-urlencoded" {
		return "", nil
	}
	return kind, nil
}

// uploadBody remembers the error of the connection, which its reader may replace.
type uploadBody struct {
	r   io.Reader
	err error
}

func (b *uploadBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}
