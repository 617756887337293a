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

// irregularThread is a thread in whose folder one name is no regular file.
func irregularThread(name string, mode fs.FileMode) fstest.MapFS {
	fsys := fstest.MapFS{
		"key":                                  {Data: []byte("hello")},
		"state=finished/T/000-T.messe-af.yaml": {Data: []byte(good)},
		"state=finished/T/att-001-image-a.jpg": {Data: []byte("hello")},
	}
	fsys["state=finished/T/"+name] = &fstest.MapFile{Data: []byte("../../key"), Mode: mode | 0o600}
	return fsys
}

// Only regular files are a thread's: what else is called so is neither read nor
// packed, and told.
func TestIrregularFiles(t *testing.T) {
	p := messeaf.Place{Ref: "T", Path: "state=finished/T", Folder: messeaf.Finished}
	const link, pipe, other = "is a symbolic link, which is not followed; put what it leads to in its place", "is a pipe, which nobody can read as a file; remove it",
		"is a socket or a device, which nobody can read as a file; remove it"
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
		{"att-001-image-a.jpg", fs.ModeDir, "is a folder, where a file belongs; move it away"},
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

// What lies among threads and is none is told, but for what is hidden.
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
	want := `state=received/V.mess.yaml: is no thread, which is a folder, or a file whose name ends in .messe-af.yaml
state=received/W x.messe-af: cannot be the name of a thread; use letters, digits, and . _ @ + - between them
state=received/X\ny: cannot be the name of a thread; use letters, digits, and . _ @ + - between them
state=received/Y.messe-af.yaml: is a symbolic link, which is not followed; put what it leads to in its place`
	if err != nil || got.Error() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got.Error(), want)
	}
	if none, err := messeaf.Ignored(fsys, messeaf.Finished); err != nil || none != nil {
		t.Errorf("%v, %v", none, err)
	}
}

// An archive that nobody has made in good faith is refused, with the reason.
func TestArchivesThatAreRefused(t *testing.T) {
	for _, tt := range []struct {
		names []string
		flags uint16
		want  string
	}{
		{[]string{"T/", "T/000-T.messe-af.yaml", "T/"}, 0, ""},
		{[]string{"T/000-T.messe-af.yaml", "T/./000-T.messe-af.yaml"}, 0, `"T/./000-T.messe-af.yaml" is in it twice; nobody knows which counts`},
		{[]string{"../T/000-T.messe-af.yaml"}, 0, `"../T/000-T.messe-af.yaml" leads out of the archive; nobody packs a thread so`},
		{[]string{`..\T\000-T.messe-af.yaml`}, 0, `"..\\T\\000-T.messe-af.yaml" leads out of the archive; nobody packs a thread so`},
		{[]string{"/T/000-T.messe-af.yaml"}, 0, `"/T/000-T.messe-af.yaml" leads out of the archive; nobody packs a thread so`},
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

// A thread of more documents than are taken in is told so in one line.
func TestTooManyDocuments(t *testing.T) {
	fsys := fstest.MapFS{"state=finished/T/000-T.messe-af.yaml": {Data: []byte(good + strings.Repeat("---\nfrom: a\n", messeaf.MaxDocuments))}}
	wrong, _ := messeaf.Place{Ref: "T", Path: "state=finished/T", Folder: messeaf.Finished}.Check(fsys)
	if want := "state=finished/T: has 20003 documents; 20000 are the most that an exchange takes in"; wrong.Error() != want {
		t.Error(wrong.Error())
	}
}
