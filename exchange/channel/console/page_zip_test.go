package console_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// esbuild is the program that joins the scripts of a page. make bin/esbuild builds it.
const esbuild = "../../../bin/esbuild"

// entries are the scripts that the pages load. page.zip has each with everything that it imports, except
// the texts: a browser asks for one file instead of fifty.
var entries = []string{"js/console.js", "js/me.js"}

// TestPageZipHasFolder checks that page.zip has been made from the folder page. It compares the files
// that esbuild writes only where esbuild is built; elsewhere it compares a digest of the folder that
// they begin with. MESSKIT_PAGE=write writes the archive.
func TestPageZipHasFolder(t *testing.T) {
	folder := readFolder(t, ".")
	sum := digest(folder)
	if os.Getenv("MESSKIT_PAGE") == "write" {
		if err := os.WriteFile("page.zip", packed(t, built(t, sum)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := zippedFiles(t)
	want := map[string][]byte{}
	if _, err := os.Stat(esbuild); err == nil {
		want = built(t, sum)
	} else {
		for name, data := range folder {
			if isSent(name) {
				want[name] = data
			}
		}
	}
	for name, data := range got {
		text, ok := want[name]
		if !ok {
			t.Errorf("%s is in page.zip and not in the folder; run make page", name)
		}
		if isMade(name) {
			if !bytes.HasPrefix(data, []byte(banner(sum))) {
				t.Errorf("%s in page.zip is of another folder; run make page", name)
			}
			if len(text) == len(folder[name]) {
				continue // without esbuild
			}
		}
		if ok && !bytes.Equal(data, text) {
			t.Errorf("%s in page.zip is not that of the folder; run make page", name)
		}
	}
	for name := range want {
		if got[name] == nil {
			t.Errorf("%s is not in page.zip; run make page", name)
		}
	}
}

// readFolder returns the files of the folder page in a folder, by their path from there.
func readFolder(t *testing.T, in string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(in), "page", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[name], err = os.ReadFile(filepath.Join(in, filepath.FromSlash(name)))
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return files
}

// isMade reports whether esbuild writes a file of page.zip.
func isMade(name string) bool { return path.Ext(name) == ".js" || path.Ext(name) == ".css" }

// isSent reports whether page.zip has a file of the folder: entries have the scripts that it lacks.
func isSent(name string) bool {
	rest := strings.TrimPrefix(name, "page/")
	return path.Ext(name) != ".js" || slices.Contains(entries, rest) || rest == "sw.js" || rest == "js/theme.js" || isText(rest)
}

func isText(name string) bool {
	return strings.HasPrefix(name, "js/text/") && name != "js/text/text.js"
}

// digest returns the digest of the names and bytes of files.
func digest(files map[string][]byte) string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	h := sha256.New()
	for _, name := range names {
		one := sha256.Sum256(files[name])
		h.Write([]byte(name + " " + hex.EncodeToString(one[:]) + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

func banner(sum string) string { return "/* made by make page from " + sum + " */\n" }

// built returns the files of page.zip, by name.
func built(t *testing.T, sum string) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "page"), os.DirFS("page")); err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs(esbuild)
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		header := strings.TrimSpace(banner(sum))
		c := exec.Command(program, append(args, "--minify", "--target=es2022", "--charset=utf8", "--allow-overwrite", "--log-level=warning", "--banner:js="+header, "--banner:css="+header)...)
		c.Dir = filepath.Join(dir, "page")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	plain := []string{"--outbase=.", "--outdir=.", "sw.js", "js/theme.js", "app.css"} // a page imports none of them
	bundle := append([]string{"--bundle", "--format=esm", "--outdir=js"}, entries...)
	for _, text := range readTextFiles(t) {
		bundle = append(bundle, "--external:./"+text)
		plain = append(plain, text)
	}
	run(bundle...)
	run(plain...)
	files := readFolder(t, dir)
	for name := range files {
		if !isSent(name) {
			delete(files, name)
		}
	}
	return files
}

// readTextFiles returns the files with the texts of the languages.
func readTextFiles(t *testing.T) (list []string) {
	t.Helper()
	for name := range readFolder(t, ".") {
		if rest := strings.TrimPrefix(name, "page/"); isText(rest) {
			list = append(list, rest)
		}
	}
	slices.Sort(list)
	return list
}

// zippedFiles returns the files of page.zip, by name.
func zippedFiles(t *testing.T) map[string][]byte {
	t.Helper()
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
	files := map[string][]byte{}
	inner := openZip(t, all)
	for _, f := range inner.File {
		if files[f.Name], err = fs.ReadFile(inner, f.Name); err != nil {
			t.Fatal(f.Name, err)
		}
	}
	return files
}

func openZip(t *testing.T, data []byte) *zip.Reader {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// packed returns the archive: files of one kind are next to each other, because they have the same
// words.
func packed(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	slices.SortStableFunc(names, func(a, b string) int { return strings.Compare(path.Ext(a), path.Ext(b)) })
	list := make([]zipped, len(names))
	for i, name := range names {
		list[i] = zipped{name, zip.Store, files[name]}
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
