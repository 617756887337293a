package messeaf_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/mess/messeaf"
)

// A printed thread parses to the same thread, and prints the same text again.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"complete", "needs-input", "structure", "node-server"} {
		f.Add(read(f, name+".messe-af.yaml"))
	}
	f.Add([]byte(good))
	f.Add([]byte(thread(enough, "from: 1\nMESS: [{x: y}, {v: 2}, {status: [1]}]\nmore: {a: [null, 1e3]}")))
	f.Fuzz(func(t *testing.T, data []byte) {
		th, err := messeaf.Parse(data)
		if err != nil {
			if th.Messages != nil || th.Envelope.Ref != "" {
				t.Errorf("an error, and a thread: %v", th)
			}
			return
		}
		text := print(t, th)
		again := parse(t, text)
		if second := print(t, again); second != text {
			t.Error(cmp.Diff(text, second))
		}
		if len(again.Messages) != len(th.Messages) {
			t.Errorf("%d messages became %d", len(th.Messages), len(again.Messages))
		}
	})
}

// No name from outside leaves the folder of the thread.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"IMG 0001.jpg", "../../etc/passwd", `..\x`, "a/b", ".", "..", "...", "", "\x00", "é.png", strings.Repeat("x", 300) + ".jpeg", "con.", "a..b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name := messeaf.AttachmentName(1, "image", s)
		if !messeaf.ValidAttachment(name) {
			t.Errorf("%q becomes %q, which is no attachment's name", s, name)
		}
		ref := messeaf.Ref("2026-02-01", 1, messeaf.Token(s))
		if day, serial, ok := messeaf.ParseRef(ref); !ok || day != "2026-02-01" || serial != 1 || !messeaf.ValidRef(ref) {
			t.Errorf("%q becomes %q: %s, %d, %v", s, ref, day, serial, ok)
		}
		for _, valid := range []bool{messeaf.ValidRef(s), messeaf.ValidAttachment(s)} {
			if valid && (path.Base(s) != s || s == ".." || s == "." || strings.ContainsAny(s, "/\\\x00")) {
				t.Errorf("%q is valid", s)
			}
		}
		if n, ref, ok := messeaf.ParseFileName(s); ok && messeaf.ValidRef(ref) && path.Base(s) != s {
			t.Errorf("%q is file %d of %q", s, n, ref)
		}
	})
}

// For any archive, no name leaves it, and List and Read do not panic.
func FuzzArchive(f *testing.F) {
	for _, names := range [][]string{{"T/000-T.messe-af.yaml", "T/att-001-image-a.jpg"}, {"T.messe-af.yaml"}, {"../T"}, {"a", "a"}, {`..\T`}, {"/T"}} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, name := range names {
			w, err := z.Create(name)
			if err == nil {
				_, err = w.Write([]byte(good))
			}
			if err != nil {
				f.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fsys, err := messeaf.OpenArchive(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			if fsys != nil {
				t.Error("an error, and an archive")
			}
			return
		}
		places, err := messeaf.List(fsys)
		if err != nil {
			return
		}
		for _, p := range places {
			if !messeaf.ValidRef(p.Ref) || !fs.ValidPath(p.Path) {
				t.Errorf("%q lies in %q", p.Ref, p.Path)
			}
			p.Check(fsys)
		}
	})
}
