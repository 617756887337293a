package messeaf

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/messkit/messkit/mess"
)

// Check compares a thread with the specification. wrong contains errors; odd contains
// deviations that this package accepts, but other readers may not.
func (p Place) Check(fsys fs.FS) (wrong, odd Problems) {
	c := &checker{place: p, fsys: fsys}
	files, err := p.ReadFiles(fsys)
	if err != nil {
		c.failed(err)
		return c.wrong, c.odd
	}
	if err := p.TooMany(files); err != nil {
		c.failed(err)
		return c.wrong, c.odd
	}
	t, err := p.Parse(files)
	if err != nil {
		c.failed(err)
		return c.wrong, c.odd
	}
	c.files(files)
	c.envelope(files[0], t.Envelope)
	c.messages(files, t)
	c.attachments(files, t)
	return c.wrong, c.odd
}

type checker struct {
	place      Place
	fsys       fs.FS
	wrong, odd Problems
}

func (c *checker) failed(err error) {
	if ps, ok := errors.AsType[Problems](err); ok {
		c.wrong = append(c.wrong, ps...)
		return
	}
	c.wrong = append(c.wrong, Problem{File: c.place.Path, Text: err.Error()})
}

func (c *checker) at(list *Problems, file string, line int, where, format string, args ...any) {
	*list = append(*list, Problem{File: path.Join(c.place.Dir(), file), Line: line, Path: where, Text: fmt.Sprintf(format, args...)})
}

// files checks names and sizes (section "File Numbering").
func (c *checker) files(files []File) {
	if c.place.Flat {
		return
	}
	for i, f := range files {
		n, ref, _ := ParseFileName(f.Name)
		if n != i {
			c.at(&c.wrong, f.Name, 0, "", "is file %d of the thread; number %03d is missing", i, i)
		}
		if ref != c.place.Ref {
			c.at(&c.wrong, f.Name, 0, "", "has the name of another thread; it should be %s", FileName(n, c.place.Ref))
		}
		if f.Size > MaxFile && len(f.Documents) > 2 {
			c.at(&c.odd, f.Name, 0, "", "has %d bytes; from %d on the thread should begin a new file", f.Size, MaxFile)
		}
	}
	entries, _ := fs.ReadDir(c.fsys, c.place.Path) // an earlier step has read it
	for _, e := range entries {
		switch _, _, own := ParseFileName(e.Name()); {
		case !own && !ValidAttachment(e.Name()):
			c.at(&c.odd, e.Name(), 0, "", "is neither a thread's file nor an attachment; move it away")
		case !e.Type().IsRegular():
			c.at(&c.wrong, e.Name(), 0, "", "%s", irregular(e.Type()))
		}
	}
}

func (c *checker) envelope(f File, e Envelope) {
	line := f.Documents[0].Line
	if e.Ref != c.place.Ref {
		c.at(&c.wrong, f.Name, line, "ref", "is %q, and the name says %q; they must be the same", e.Ref, c.place.Ref)
	}
	for _, field := range []struct{ name, value string }{{"requestor", e.Requester}, {"intent", e.Intent}, {"status", string(e.Status)}} {
		if field.value == "" {
			c.at(&c.wrong, f.Name, line, field.name, "is missing")
		}
	}
	if e.Status != "" && !e.Status.Known() && e.Status != mess.Received {
		c.at(&c.odd, f.Name, line, "status", "%q is not in the specification", e.Status)
	}
	if c.place.Folder != "" && FolderOf(e.Status) != c.place.Folder {
		c.at(&c.wrong, f.Name, line, "status", "is %s, which belongs in %s; this is %s", e.Status, FolderOf(e.Status), c.place.Folder)
	}
	for _, t := range []struct {
		name string
		at   mess.Time
	}{{"created", e.Created}, {"updated", e.Updated}} {
		if _, ok := Time(t.at); !ok {
			c.at(&c.wrong, f.Name, line, t.name, "%q is not a time; write it like \"2026-02-01T17:00:00-08:00\"", t.at)
		}
	}
	if len(e.History) == 0 {
		c.at(&c.odd, f.Name, line, "history", "is empty; it should begin with created")
	}
	for i, h := range e.History {
		if _, ok := Time(h.At); !ok || h.Action == "" {
			c.at(&c.wrong, f.Name, line, fmt.Sprintf("history[%d]", i), "needs an action and a time")
		}
	}
}

func (c *checker) messages(files []File, t Thread) {
	refs := []string{t.Envelope.Ref}
	for _, m := range t.Messages {
		refs = append(refs, m.Ref)
	}
	i := 0
	for n, f := range files {
		docs := f.Documents
		if n == 0 {
			docs = docs[1:]
		}
		for _, d := range docs {
			c.message(f.Name, d.Line, t.Messages[i], i == 0, refs)
			i++
		}
	}
	if len(t.Messages) == 0 || !IsRequest(t.Messages[0]) {
		c.at(&c.odd, files[0].Name, files[0].Documents[0].Line, "", "no request follows the envelope")
	}
}

func (c *checker) message(file string, line int, m mess.Message, first bool, refs []string) {
	if m.From == "" {
		c.at(&c.wrong, file, line, "from", "is missing; the message has no sender")
	}
	if _, ok := Time(m.Received); !ok {
		c.at(&c.odd, file, line, "received", "%q is not a time", m.Received)
	}
	if len(m.Items) == 0 {
		c.at(&c.wrong, file, line, "MESS", "is empty")
	}
	if len(m.Re) == 0 && !first && !IsAck(m) && !IsRequest(m) {
		c.at(&c.odd, file, line, "re", "is missing; write the thread's ref next to from:")
	}
	for i, item := range m.Items {
		switch it := item.(type) {
		case *mess.Other:
			c.at(&c.odd, file, line, fmt.Sprintf("[%d].%s", i, it.Type), "is not in the specification, or not as it has it")
		case *mess.Ack:
			if it.Ref != "" && !slices.Contains(refs, it.Ref) {
				c.at(&c.odd, file, line, fmt.Sprintf("[%d].ack.ref", i), "%q is neither the thread nor one of its messages", it.Ref)
			}
		}
	}
}

func (c *checker) attachments(files []File, t Thread) {
	_, beside, _ := c.place.Files(c.fsys) // an earlier step has read it
	named := map[string]bool{}
	for _, a := range t.Attachments() {
		if a.Data != nil {
			if len(a.Data) > MaxInline {
				c.at(&c.odd, files[0].Name, 0, "", "%s: %d bytes inside the document; above %d it should be a file next to it", a.Message, len(a.Data), MaxInline)
			}
			continue
		}
		if a.Thread != "" {
			continue // the file is in another folder
		}
		named[a.Name] = true
		info, err := fs.Lstat(c.fsys, path.Join(c.place.Dir(), a.Name))
		switch {
		case err == nil && !info.Mode().IsRegular(): // reported above
		case err != nil:
			c.at(&c.wrong, a.Name, 0, "", "is not there, and %s names it", whoNames(a))
		case a.Size < 0:
			c.at(&c.odd, a.Name, 0, "", "%s does not say its size", whoNames(a))
		case info.Size() != a.Size:
			c.at(&c.wrong, a.Name, 0, "", "has %d bytes, and %s says %d", info.Size(), whoNames(a), a.Size)
		}
		if a.MIME == "" {
			c.at(&c.odd, a.Name, 0, "", "%s does not say its MIME type", whoNames(a))
		}
	}
	for _, name := range beside {
		if !named[name] {
			c.at(&c.odd, name, 0, "", "no message names it")
		}
	}
}

// whoNames returns the message that names an attachment.
func whoNames(a Attachment) string {
	if a.Message == "" {
		return "the request"
	}
	return a.Message
}
