package thread

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// ExtractFiles replaces large inline data by references to files (MESSE-AF 2.1, "Size Limits"). It
// returns copies of the items, and the bytes of the files. Callers do that before they store a
// message, so that all readers see the same form.
func ExtractFiles(items []mess.Item) (_ []mess.Item, files [][]byte) {
	items = slices.Clone(items)
	for i := range items {
		list := messeaf.Contents(&items[i])
		if list == nil {
			continue
		}
		for j, e := range *list {
			if e, data, ok := extractFile(e); ok {
				(*list)[j] = e
				files = append(files, data)
			}
		}
	}
	return items, files
}

// extractFile returns an entry with its data in a file, if they are too large for a message.
func extractFile(e mess.Entry) (_ mess.Entry, data []byte, ok bool) {
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

// StoredRequest returns a request as its thread has it, with its files and their names. Call Stage
// of the store for each file first.
func StoredRequest(r *mess.Request) (_ *mess.Request, files [][]byte, binds []Bind) {
	items, data := ExtractFiles([]mess.Item{r})
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
		c.Context[i], binds = bindFile(e, f, 0, binds)
		files = append(files, data[n])
	}
	return c, files, binds
}

// BindAttachments gives the staged files in a message their names in the thread (MESSE-AF 2.1,
// "Attachment References"), and returns the binds for the step.
func BindAttachments(m *mess.Message, serial int) (binds []Bind) {
	m.Items = slices.Clone(m.Items)
	for i := range m.Items {
		list := messeaf.Contents(&m.Items[i])
		if list == nil {
			continue
		}
		for j, e := range *list {
			f, ok := e.Media()
			if !ok || f.File == "" || f.SHA256 == "" {
				continue
			}
			(*list)[j], binds = bindFile(e, f, serial, binds)
		}
	}
	return binds
}

// bindFile gives a staged file a name that none of the others has.
func bindFile(e mess.Entry, f mess.Media, serial int, others []Bind) (mess.Entry, []Bind) {
	name := uniqueName(messeaf.AttachmentName(serial, e.Type, f.File), others)
	e.Value = e.Value.(mess.Object).Clone().Set("file", name)
	return e, append(others, Bind{Name: name, SHA256: f.SHA256})
}

func uniqueName(name string, taken []Bind) string {
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	for n := 2; slices.ContainsFunc(taken, func(b Bind) bool { return b.Name == name }); n++ {
		name = fmt.Sprintf("%s-%d%s", stem, n, ext)
	}
	return name
}
