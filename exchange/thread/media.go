package thread

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// CheckMedia returns an error for media that contradict their own type: unreadable data URIs, and
// data URIs with another type or with the bytes of a text. It does not decode images.
func CheckMedia(m mess.Message) error {
	for i, item := range m.Items {
		for j, e := range messeaf.Content(item) {
			if f, ok := e.Media(); ok {
				if err := fits(e.Type, f); err != nil {
					list := "context"
					if item.Kind() == mess.KindResponse {
						list = "content"
					}
					return mess.Errorf(mess.Invalid, "[%d].%s.%s[%d].%s: %v", i, item.Kind(), list, j, e.Type, err)
				}
			}
		}
	}
	return nil
}

// sniffed is the number of bytes at the start of a file that show its type.
const sniffed = 512

func fits(kind string, f mess.Media) error {
	if !isKind(kind, f.MIME) {
		return fmt.Errorf("mime: %.60q is not %s", f.MIME, kind)
	}
	for _, uri := range []string{f.URI, f.Extra.Text("data"), f.Extra.Text("url")} {
		if rest, inline := strings.CutPrefix(uri, "data:"); inline {
			return fitsInline(kind, rest)
		}
	}
	return nil
}

// fitsInline checks the part of a data URI after "data:".
func fitsInline(kind, rest string) error {
	mime, text, ok := strings.Cut(rest, ";base64,")
	if !ok {
		return fmt.Errorf("is no data URI; write data:, the type, ;base64, and the bytes")
	}
	if mime == "" || !isKind(kind, mime) {
		return fmt.Errorf("the data URI is of the type %.60q, which is not %s", mime, kind)
	}
	data := base64.NewDecoder(base64.StdEncoding, strings.NewReader(text))
	head, err := io.ReadAll(io.LimitReader(data, sniffed))
	if err == nil {
		_, err = io.Copy(io.Discard, data)
	}
	switch {
	case err != nil:
		return fmt.Errorf("the bytes of the data URI are not base64")
	case len(head) == 0:
		return fmt.Errorf("the data URI is empty")
	case kind != "file" && !strings.HasPrefix(mime, "image/svg") && strings.HasPrefix(http.DetectContentType(head), "text/"):
		return fmt.Errorf("the bytes of the data URI are text, and not %s", mime)
	}
	return nil
}

// isKind reports whether a media type may be that of an image, audio or video. An empty or general
// type may be all of them.
func isKind(kind, mime string) bool {
	return kind == "file" || mime == "" || mime == "application/octet-stream" || strings.HasPrefix(strings.ToLower(mime), kind+"/")
}
