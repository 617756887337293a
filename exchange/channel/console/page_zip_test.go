package console_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"io"
	"io/fs"
	"os"
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
	r, err := zip.OpenReader("page.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, f := range r.File {
		got, err := fs.ReadFile(r, f.Name)
		if text, ok := want[f.Name]; err != nil || !ok || !bytes.Equal(got, text) {
			t.Errorf("%s in page.zip is not that of the folder (%v); run make page", f.Name, err)
		}
		delete(want, f.Name)
	}
	for name := range want {
		t.Errorf("%s is not in page.zip; run make page", name)
	}
}

func packed(t *testing.T, names []string, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })
	for _, name := range names {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err == nil {
			_, err = f.Write(files[name])
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
