package mesh

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/internal/durable"
)

// FilesPath is the path at which peers fetch files that do not fit into a message.
const FilesPath = "/mesh/files/"

// servedFile is a file that everyone who knows its address may fetch for a while.
type servedFile struct {
	Secret string    `json:"secret"`
	Name   string    `json:"name"`
	MIME   string    `json:"mime"`
	Until  time.Time `json:"until"`
}

const (
	outFolder = "out" // files for peers
	inFolder  = "in"  // files of responses
)

// fileServer stores the files that peers fetch and those that came with answers.
type fileServer struct {
	*shared

	mu    sync.Mutex
	files map[string]servedFile // by the secret part of their address
}

func (fs *fileServer) restore(doc []byte) error {
	f, err := stored[servedFile](doc)
	if err == nil {
		fs.files[f.Secret] = f
	}
	return err
}

// expire removes the expired files, and returns the names of their documents.
func (fs *fileServer) expire(now time.Time) (names []string) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for name, f := range fs.files {
		if now.After(f.Until) {
			delete(fs.files, name)
			fs.removeServed(name)
			names = append(names, docFile+name)
		}
	}
	return names
}

// serve stores a file for peers and returns its address.
func (fs *fileServer) serve(ctx context.Context, f Attached) (string, error) {
	s := servedFile{Secret: strings.ToLower(rand.Text()), Name: f.Name, MIME: f.MIME, Until: time.Now().Add(answerTTL)}
	dir := filepath.Join(fs.opts.Dir, outFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := durable.Replace(filepath.Join(dir, s.Secret), f.Data); err != nil {
		return "", err
	}
	if err := fs.save(ctx, docFile+s.Secret, s); err != nil {
		return "", err
	}
	fs.mu.Lock()
	fs.files[s.Secret] = s
	fs.mu.Unlock()
	return fs.base + FilesPath + s.Secret + "/" + url.PathEscape(f.Name), nil
}

// ServeFile answers with a file. A browser must not run scripts in it, so most media types become
// application/octet-stream.
func (fs *fileServer) ServeFile(w http.ResponseWriter, r *http.Request) {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, FilesPath), "/")
	fs.mu.Lock()
	s, ok := fs.files[name]
	fs.mu.Unlock()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		reply(w, http.StatusMethodNotAllowed, map[string]any{"ok": false, "error": "method"})
		return
	}
	if !ok || time.Now().After(s.Until) {
		reply(w, http.StatusNotFound, map[string]any{"ok": false, "error": "not_found", "message": "there is no such file, or not any more"})
		return
	}
	f, err := os.Open(filepath.Join(fs.opts.Dir, outFolder, s.Secret))
	if err != nil {
		fs.log.Error("mesh: cannot open a file for a peer", "err", err)
		reply(w, http.StatusNotFound, map[string]any{"ok": false, "error": "not_found", "message": "the file is gone"})
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", harmless(s.MIME))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": s.Name}))
	http.ServeContent(w, r, "", time.Time{}, f)
}

// harmless returns a media type for which no browser runs scripts.
func harmless(kind string) string {
	main, _, _ := mime.ParseMediaType(kind)
	top, _, _ := strings.Cut(main, "/")
	if top == "image" && main != "image/svg+xml" || top == "audio" || top == "video" || main == "text/plain" || main == "application/json" {
		return main
	}
	return "application/octet-stream"
}

// saveFile stores a file of a response under a name that is not in taken.
func (fs *fileServer) saveFile(id string, f Attached, taken []string) (string, error) {
	dir := fs.answerFolder(id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", errors.New("the agent cannot store it")
	}
	name := f.Name
	for n := 2; slices.Contains(taken, name); n++ {
		name = fmt.Sprintf("%d-%s", n, f.Name)
	}
	if err := durable.Replace(filepath.Join(dir, name), f.Data); err != nil {
		fs.log.Error("mesh: cannot store a file of a response", "err", err)
		return "", errors.New("the agent cannot store it")
	}
	return name, nil
}

func (fs *fileServer) answerFolder(id string) string {
	return filepath.Join(fs.opts.Dir, inFolder, digest(id))
}

// savedFile reads a file of a response.
func (fs *fileServer) savedFile(id, name string) ([]byte, error) {
	root, err := os.OpenRoot(fs.answerFolder(id))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.ReadFile(cmp.Or(name, "."))
}

// removeFiles removes the files of a response.
func (fs *fileServer) removeFiles(id string) {
	if err := os.RemoveAll(fs.answerFolder(id)); err != nil {
		fs.log.Warn("mesh: old files stay", "err", err)
	}
}

// removeServed removes a file that peers could fetch.
func (fs *fileServer) removeServed(name string) {
	if err := os.Remove(filepath.Join(fs.opts.Dir, outFolder, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		fs.log.Warn("mesh: an old file stays", "err", err)
	}
}
