package console

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // the pages
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

// pageZip is the folder page. make page writes it, and a test compares the two. It has one file, an
// archive of all files without compression: together they take four fifths of the space that they
// take one by one.
//
//go:embed page.zip
var pageZip string

// pageFiles is the name of the archive in pageZip.
const pageFiles = "files.zip"

// files returns the files of the page.
var files = sync.OnceValue(func() fs.FS {
	outer, err := zip.NewReader(strings.NewReader(pageZip), int64(len(pageZip)))
	if err != nil {
		panic(err) // the test has read it
	}
	all, err := fs.ReadFile(outer, pageFiles)
	if err != nil {
		panic(err)
	}
	inner, err := zip.NewReader(bytes.NewReader(all), int64(len(all)))
	if err != nil {
		panic(err)
	}
	return inner
})

// policy limits what the pages load and run to files of this exchange. The pages have no inline
// script and make none from text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; " +
	"connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types messkit"

// mediaTypes maps the endings of the embedded files to media types.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml", ".webmanifest": "application/manifest+json", ".png": "image/png", ".txt": "text/plain; charset=utf-8",
	".json": "application/json; charset=utf-8", ".crt": "application/x-x509-ca-cert",
}

// pagePaths maps some files to paths of their own. All others are below /console/.
var pagePaths = map[string]string{"index.html": "/", "me.html": "/me", "sw.js": "/sw.js", "me.webmanifest": "/me.webmanifest", "app.webmanifest": "/app.webmanifest"}

// Pages returns the handlers of the paths that need no key, which include signing in.
func (c *Console) Pages() map[string]http.Handler {
	pages := map[string]http.Handler{pathSession: http.HandlerFunc(c.serveSession)}
	// WalkDir cannot fail for an embedded archive.
	_ = fs.WalkDir(files(), "page", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rest := strings.TrimPrefix(name, "page/")
		at, ok := pagePaths[rest]
		if !ok {
			at = "/console/" + rest
		}
		pages[at] = &pageFile{name: name}
		return nil
	})
	pages[pathFiles] = &pageFile{name: "files.json", made: fileList}
	if c.cfg.Authority != nil {
		pages[pathAuthority] = &pageFile{name: "authority.crt", made: func() []byte { return c.cfg.Authority }}
	}
	return pages
}

// pathFiles is the path of the list of all files, for the service worker.
const pathFiles = "/console/files.json"

// pathAuthority is the path of the certificate that devices install to trust the exchange.
const pathAuthority = "/console/authority.crt"

// fileList returns the list of the files that the service worker stores, and a tag of their content, as
// JSON.
func fileList() []byte {
	var list struct {
		Tag   string   `json:"tag"`
		Files []string `json:"files"`
	}
	sum := sha256.Sum256([]byte(pageZip))
	list.Tag = hex.EncodeToString(sum[:12])
	// WalkDir cannot fail for an embedded archive.
	_ = fs.WalkDir(files(), "page", func(name string, d fs.DirEntry, err error) error {
		rest := strings.TrimPrefix(name, "page/")
		if err != nil || d.IsDir() || path.Ext(name) == ".txt" || rest == "sw.js" {
			return err
		}
		list.Files = append(list.Files, cmp.Or(pagePaths[rest], "/console/"+rest))
		return nil
	})
	data, _ := json.Marshal(list) // strings alone
	return data
}

// pageFile is an embedded file, or one that the program makes. It compresses itself at the first
// request.
type pageFile struct {
	name string
	made func() []byte // nil for an embedded file

	once   sync.Once
	data   []byte
	packed []byte
	tag    string
}

func (f *pageFile) read() {
	if f.made != nil {
		f.data = f.made()
	} else {
		f.data, _ = fs.ReadFile(files(), f.name) // the file exists: the path comes from the walk
	}
	sum := sha256.Sum256(f.data)
	f.tag = `"` + hex.EncodeToString(sum[:12]) + `"`
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = z.Write(f.data)                                // a buffer takes all bytes
	_ = z.Close()
	f.packed = b.Bytes()
}

// ServeHTTP serves the file. The header no-cache makes browsers ask each time, so a new program
// has its own pages.
func (f *pageFile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		writeJSON(w, http.StatusMethodNotAllowed, map[string]string{"error": "this is a page; use GET"})
		return
	}
	f.once.Do(f.read)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer the form of the stop has the origin null, which the API rejects
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(self), microphone=(self), geolocation=(self)")
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", f.tag)
	h.Set("Content-Type", mediaTypes[path.Ext(f.name)])
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	data := f.data
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		data = f.packed
	}
	if r.Method == http.MethodGet {
		_, _ = w.Write(data) // the browser has gone if it fails
	}
}
