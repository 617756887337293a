package messeaf_test

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/messkit/messkit/mess/messeaf"
)

// irregularThread returns a thread with one special file.
func irregularThread(name string, mode fs.FileMode) fstest.MapFS {
	fsys := fstest.MapFS{
		"key":                                  {Data: []byte("hello")},
		"state=finished/T/000-T.messe-af.yaml": {Data: []byte(good)},
		"state=finished/T/att-001-image-a.jpg": {Data: []byte("hello")},
	}
	fsys["state=finished/T/"+name] = &fstest.MapFile{Data: []byte("../../key"), Mode: mode | 0o600}
	return fsys
}

// Only regular files belong to a thread: the package neither reads nor packs special files,
// and reports them.
func TestIrregularFiles(t *testing.T) {
	p := messeaf.Place{Ref: "T", Path: "state=finished/T", Folder: messeaf.Finished}
	const link, pipe, other = "is a symbolic link, which messkit does not follow; replace it by its target", "is a pipe instead of a file; remove it",
		"is a socket or a device instead of a file; remove it"
	for _, tt := range []struct {
		name string
		mode fs.FileMode
		want string
	}{
		{"000-T.messe-af.yaml", fs.ModeSymlink, link},
		{"000-T.messe-af.yaml", fs.ModeNamedPipe, pipe},
		{"001-T.messe-af.yaml", fs.ModeSocket, other},
		{"att-001-image-a.jpg", fs.ModeSymlink, link},
		{"att-001-image-a.jpg", fs.ModeDevice, other},
		{"att-001-image-a.jpg", fs.ModeDir, "is a folder instead of a file; move it away"},
	} {
		fsys := irregularThread(tt.name, tt.mode)
		want := "state=finished/T/" + tt.name + ": " + tt.want
		if wrong, _ := p.Check(fsys); wrong.Error() != want {
			t.Errorf("%s, %v: %s\nwant %s", tt.name, tt.mode, wrong.Error(), want)
		}
		if own, attachments, err := p.Files(fsys); err != nil || strings.Contains(strings.Join(append(own, attachments...), " "), tt.name) {
			t.Errorf("%s, %v is one of the files: %v, %v, %v", tt.name, tt.mode, own, attachments, err)
		}
		if err := messeaf.Archive(io.Discard, fsys, p); err == nil || err.Error() != want {
			t.Errorf("%s, %v is packed: %v", tt.name, tt.mode, err)
		}
	}
}

// Ignored reports entries that are not threads, except hidden ones.
func TestIgnored(t *testing.T) {
	fsys := fstest.MapFS{
		"state=received/T/000-T.messe-af.yaml": {Data: []byte(good)},
		"state=received/U.messe-af.yaml":       {Data: []byte(good)},
		"state=received/.swap":                 {},
		"state=received/V.mess.yaml":           {Data: []byte(good)},
		"state=received/W x.messe-af":          {Data: []byte(good)},
		"state=received/X\ny/z":                {},
		"state=received/Y.messe-af.yaml":       {Data: []byte("U.messe-af.yaml"), Mode: fs.ModeSymlink},
	}
	got, err := messeaf.Ignored(fsys, messeaf.Received)
	want := `state=received/V.mess.yaml: is not a thread: a thread is a folder, or a file whose name ends in .messe-af.yaml
state=received/W x.messe-af: cannot be the name of a thread; use letters, digits, and . _ @ + - between them
state=received/X\ny: cannot be the name of a thread; use letters, digits, and . _ @ + - between them
state=received/Y.messe-af.yaml: is a symbolic link, which messkit does not follow; replace it by its target`
	if err != nil || got.Error() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got.Error(), want)
	}
	if none, err := messeaf.Ignored(fsys, messeaf.Finished); err != nil || none != nil {
		t.Errorf("%v, %v", none, err)
	}
}

// OpenArchive rejects a malicious archive, with the reason.
func TestMaliciousArchivesAreRejected(t *testing.T) {
	for _, tt := range []struct {
		names []string
		flags uint16
		want  string
	}{
		{[]string{"T/", "T/000-T.messe-af.yaml", "T/"}, 0, ""},
		{[]string{"T/000-T.messe-af.yaml", "T/./000-T.messe-af.yaml"}, 0, `"T/./000-T.messe-af.yaml" is in the archive twice; remove one`},
		{[]string{"../T/000-T.messe-af.yaml"}, 0, `"../T/000-T.messe-af.yaml" is a path outside of the archive; create the archive again without it`},
		{[]string{`..\T\000-T.messe-af.yaml`}, 0, `"..\\T\\000-T.messe-af.yaml" is a path outside of the archive; create the archive again without it`},
		{[]string{"/T/000-T.messe-af.yaml"}, 0, `"/T/000-T.messe-af.yaml" is a path outside of the archive; create the archive again without it`},
		{[]string{"T/000-T.messe-af.yaml"}, 1, `"T/000-T.messe-af.yaml" is encrypted; unpack the archive, and take the folder`},
	} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, name := range tt.names {
			if _, err := z.CreateRaw(&zip.FileHeader{Name: name, Flags: tt.flags}); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := messeaf.OpenArchive(bytes.NewReader(b.Bytes()), int64(b.Len()))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q: %s\nwant %s", tt.names, got, tt.want)
		}
	}
}

// A thread with too many documents gives an error of one line.
func TestTooManyDocuments(t *testing.T) {
	fsys := fstest.MapFS{"state=finished/T/000-T.messe-af.yaml": {Data: []byte(good + strings.Repeat("---\nfrom: a\n", messeaf.MaxDocuments))}}
	wrong, _ := messeaf.Place{Ref: "T", Path: "state=finished/T", Folder: messeaf.Finished}.Check(fsys)
	if want := "state=finished/T: has 20003 documents; the limit of an exchange is 20000"; wrong.Error() != want {
		t.Error(wrong.Error())
	}
}
