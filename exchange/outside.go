package exchange

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// outside returns items whose large data are files beside the message (MESSE-AF
// 2.1, "Size Limits"), and the bytes of these files. It happens before a message
// is stored, so whoever reads the thread sees the same form at all times.
func outside(items []mess.Item) (_ []mess.Item, files [][]byte) {
	items = slices.Clone(items)
	for i := range items {
		list := messeaf.Contents(&items[i])
		if list == nil {
			continue
		}
		for j, e := range *list {
			if e, data, ok := beside(e); ok {
				(*list)[j] = e
				files = append(files, data)
			}
		}
	}
	return items, files
}

// beside is a piece of content as a file, if its data are too large to stand in a
// message.
func beside(e mess.Entry) (_ mess.Entry, data []byte, ok bool) {
	f, ok := e.Media()
	most := messeaf.MaxInline
	if e.Type == "file" && strings.HasPrefix(f.URI, "data:text/") {
		most = mess.LongText
	}
	if !ok || len(f.URI) <= most {
		return e, nil, false
	}
	mimeType, data, ok := mess.ParseDataURI(f.URI)
	if !ok || len(data) <= most {
		return e, nil, false
	}
	size, sum := int64(len(data)), sha256.Sum256(data)
	f.URI, f.File = "", messeaf.SafeName(cmp.Or(f.Name, e.Type+messeaf.Extension(mimeType)))
	f.MIME, f.Size, f.SHA256 = mimeType, &size, hex.EncodeToString(sum[:])
	return mess.Entry{Type: e.Type, Value: mess.ObjectEntry(e.Type, f).Value, Extra: e.Extra}, data, true
}

// stage keeps the files of a message that is about to be stored.
func (x *Exchange) stage(ctx context.Context, files [][]byte) error {
	for _, data := range files {
		if _, err := x.store.Stage(ctx, bytes.NewReader(data), int64(len(data))); err != nil {
			return x.broken(err)
		}
	}
	return nil
}

// asStored is a request as its thread has it, with the files that it brings.
func asStored(r *mess.Request) (_ *mess.Request, files [][]byte, binds []Bind) {
	items, data := outside([]mess.Item{r})
	if len(data) == 0 {
		return r, nil, nil
	}
	c := items[0].(*mess.Request)
	for i, e := range c.Context {
		f, ok := e.Media()
		if !ok || f.File == "" || f.SHA256 == "" {
			continue
		}
		n := slices.IndexFunc(data, func(d []byte) bool { sum := sha256.Sum256(d); return hex.EncodeToString(sum[:]) == f.SHA256 })
		if n < 0 {
			continue // a file of another thread
		}
		c.Context[i], binds = bound(e, f, 0, binds)
		files = append(files, data[n])
	}
	return c, files, binds
}
