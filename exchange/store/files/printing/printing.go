// Package printing prints the messages of a thread as the documents of MESSE-AF files.
package printing

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Document is a message in its printed form, and the files that are too large for the text.
type Document struct {
	Text    []byte
	Message mess.Message      // as the text has it
	Files   map[string][]byte // by name
}

// Documents prints messages. isTaken reports whether the thread has a file of that name already.
func Documents(messages []mess.Message, isTaken func(name string) bool) ([]Document, error) {
	docs := make([]Document, len(messages))
	for i, m := range messages {
		m, files := external(m, isTaken)
		text, err := messeaf.PrintMessage(m)
		if err != nil {
			return nil, err
		}
		docs[i] = Document{text, m, files}
	}
	return docs, nil
}

// Fits reports whether a document belongs into the file of a thread that has a size, in bytes. If not, the
// document begins a new file.
func (d Document) Fits(size int64) bool {
	return size == 0 || size+int64(len(d.Text)) <= messeaf.MaxFile
}

// First returns the text of a document that begins a file.
func (d Document) First() []byte { return bytes.TrimLeft(d.Text, "\n") }

// external moves contents that are too large for a document from a message into files (section
// "Size Limits"). The exchange does so before it stores a message. This function covers messages
// of earlier releases and of other programs.
func external(m mess.Message, isTaken func(string) bool) (mess.Message, map[string][]byte) {
	var files map[string][]byte
	items := slices.Clone(m.Items)
	for i := range items {
		list := messeaf.Contents(&items[i])
		if list == nil {
			continue
		}
		for j, e := range *list {
			f, ok := e.Media()
			if !ok || len(f.URI) <= messeaf.MaxInline {
				continue
			}
			mimeType, data, ok := mess.ParseDataURI(f.URI)
			if !ok || len(data) <= messeaf.MaxInline {
				continue
			}
			name := freeName(messeaf.Serial(m.Ref), e.Type, f.Name, mimeType, func(name string) bool { return isTaken(name) || files[name] != nil })
			if files == nil {
				files = map[string][]byte{}
			}
			files[name] = data
			size, sum := int64(len(data)), sha256.Sum256(data)
			f.URI, f.File, f.MIME, f.Size, f.SHA256 = "", name, mimeType, &size, hex.EncodeToString(sum[:])
			(*list)[j] = mess.Entry{Type: e.Type, Value: mess.ObjectEntry(e.Type, f).Value, Extra: e.Extra}
		}
	}
	m.Items = items
	return m, files
}

// freeName names a file that had no name of its own in the thread.
func freeName(serial int, kind, name, mimeType string, isTaken func(string) bool) string {
	if name == "" {
		name = kind + messeaf.Extension(mimeType)
	}
	full := messeaf.AttachmentName(serial, kind, name)
	ext := path.Ext(full)
	stem := strings.TrimSuffix(full, ext)
	for n := 2; isTaken(full); n++ {
		full = fmt.Sprintf("%s-%d%s", stem, n, ext)
	}
	return full
}
