package console_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPageZipHasFolder checks that page.zip has the files of the folder page, and no others.
// MESSKIT_PAGE=write writes the archive.
func TestPageZipHasFolder(t *testing.T) {
	folder := os.DirFS(".")
	want := map[string][]byte{}
	var names []string
	err := fs.WalkDir(folder, "page", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		names = append(names, name)
		want[name], err = fs.ReadFile(folder, name)
		return err
	})
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	if os.Getenv("MESSKIT_PAGE") == "write" {
		if err := os.WriteFile("page.zip", packed(t, names, want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile("page.zip")
	if err != nil {
		t.Fatal(err)
	}
	outer := openZip(t, data)
	if len(outer.File) != 1 {
		t.Fatalf("page.zip has %d files, want one; run make page", len(outer.File))
	}
	all, err := fs.ReadFile(outer, outer.File[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	inner := openZip(t, all)
	for _, f := range inner.File {
		got, err := fs.ReadFile(inner, f.Name)
		if text, ok := want[f.Name]; err != nil || !ok || !bytes.Equal(got, withoutComments(f.Name, text)) {
			t.Errorf("%s in page.zip is not that of the folder (%v); run make page", f.Name, err)
		}
		delete(want, f.Name)
	}
	for name := range want {
		t.Errorf("%s is not in page.zip; run make page", name)
	}
}

func openZip(t *testing.T, data []byte) *zip.Reader {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// comment is a line of a script that has nothing but a comment.
var comment = regexp.MustCompile(`(?m)^ *(//|/\*\*.*\*/$).*\n`)

// withoutComments returns a script without the lines that are comments: a browser does not need them.
func withoutComments(name string, text []byte) []byte {
	if path.Ext(name) != ".js" || strings.Contains(name, "/vendor/") {
		return text
	}
	return comment.ReplaceAll(text, nil)
}

// packed returns the archive: files of one kind are next to each other, because they have the same
// words.
func packed(t *testing.T, names []string, files map[string][]byte) []byte {
	t.Helper()
	slices.SortStableFunc(names, func(a, b string) int { return strings.Compare(path.Ext(a), path.Ext(b)) })
	list := make([]zipped, len(names))
	for i, name := range names {
		list[i] = zipped{name, zip.Store, withoutComments(name, files[name])}
	}
	return zipOf(t, zipped{"files.zip", zip.Deflate, zipOf(t, list...)})
}

type zipped struct {
	name   string
	method uint16
	data   []byte
}

func zipOf(t *testing.T, list ...zipped) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })
	for _, one := range list {
		f, err := w.CreateHeader(&zip.FileHeader{Name: one.name, Method: one.method})
		if err == nil {
			_, err = f.Write(one.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
