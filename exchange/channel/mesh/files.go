package mesh

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/mess"
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

const (
	maxFetched = 2 << 20  // bytes of a file of a request
	maxSent    = 16 << 20 // bytes of a file of a response
)

// fetch returns a file that a message of a peer names.
func (fs *fileServer) fetch(ctx context.Context, p *peers.Agent, a wire.Attachment) (Attached, error) {
	return fs.fetchUpTo(ctx, p, a, maxFetched)
}

func (fs *fileServer) fetchUpTo(ctx context.Context, p *peers.Agent, a wire.Attachment, most int64) (Attached, error) {
	f := Attached{Name: nameOf(a), MIME: a.MIME, About: a.Description}
	var err error
	switch a.Type {
	case "inline":
		f.Data, err = base64.StdEncoding.DecodeString(a.Data)
	case "url":
		err = fs.fetchURL(ctx, p, a.URL, most, &f)
	case "path":
		f.Data, err = fs.readPath(a.Path, most)
	}
	if err != nil {
		return Attached{}, err
	}
	if kind, _, err := mime.ParseMediaType(f.MIME); err != nil || kind == "" {
		f.MIME = cmp.Or(mime.TypeByExtension(path.Ext(f.Name)), http.DetectContentType(f.Data))
	}
	return f, nil
}

// fetchURL fetches a file from the address of the peer, and from no other address.
func (fs *fileServer) fetchURL(ctx context.Context, p *peers.Agent, address string, most int64, f *Attached) (err error) {
	if !p.Settings().Where.Near(address) {
		return errors.New("it is not at the address of " + p.Name + "; send an address of the peer")
	}
	client := fs.clientFor(p)
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return errors.New("there is no such address")
	}
	res, err := client.Do(req)
	if err != nil {
		fs.log.Debug("mesh: cannot fetch a file", "from", p.Name, "err", err)
		return errors.New("its server does not answer")
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("its server answers %d", res.StatusCode)
	}
	f.Data, err = io.ReadAll(io.LimitReader(res.Body, most+1))
	if err != nil {
		return errors.New("it did not come through")
	}
	if int64(len(f.Data)) > most {
		return fmt.Errorf("it is larger than %d bytes", most)
	}
	f.MIME = cmp.Or(f.MIME, res.Header.Get("Content-Type"))
	return nil
}

// fetchTime is the time limit for one file.
const fetchTime = 30 * time.Second

// readPath reads a file of a folder that both agents share. It follows no link out of the folder.
func (fs *fileServer) readPath(name string, most int64) ([]byte, error) {
	for _, dir := range fs.cfg.Paths {
		rel, err := filepath.Rel(dir, name)
		if err != nil || !filepath.IsAbs(name) || !filepath.IsLocal(rel) {
			continue
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, errors.New("the folder is not readable here")
		}
		defer root.Close()
		f, err := durable.OpenIn(root, rel, os.O_RDONLY)
		if err != nil {
			return nil, errors.New("there is no such file here, or it is not readable")
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, most+1))
		switch {
		case err != nil:
			return nil, errors.New("it is not readable here")
		case int64(len(data)) > most:
			return nil, fmt.Errorf("it is larger than %d bytes", most)
		}
		return data, nil
	}
	return nil, errors.New("it is in no folder that both share; send it by its address")
}

// nameOf returns a safe name for a file, from the name that the sender gave it.
func nameOf(a wire.Attachment) string {
	name := cmp.Or(a.Filename, a.Path)
	if name == "" && a.URL != "" {
		name, _, _ = strings.Cut(a.URL, "?")
	}
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == "/" || name == ".." {
		return "file"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, name[:min(len(name), 120)])
}

func (s *shared) clientFor(p *peers.Agent) *http.Client {
	if s.opts.Through != nil {
		return s.opts.Through(p.Settings().Where, fetchTime)
	}
	return p.Settings().Where.Client(fetchTime)
}

func (fs *fileServer) attachment(ctx context.Context, p *peers.Agent, ref, name string) ([]byte, error) {
	r, _, err := fs.x.Attachment(ctx, p.Actor(), ref, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var b bytes.Buffer
	_, err = io.Copy(&b, io.LimitReader(r, maxSent))
	return b.Bytes(), err
}

func (fs *fileServer) attachmentAs(ctx context.Context, actor exchange.Actor, ref, name string) (_ []byte, err error) {
	r, _, err := fs.x.Attachment(ctx, actor, ref, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return io.ReadAll(io.LimitReader(r, maxSent))
}

// sentFiles returns the files of the responses in a thread. notes name the files that it could not
// read.
func (fs *fileServer) sentFiles(ctx context.Context, p *peers.Agent, th exchange.Thread) (files []Attached, notes []string) {
	for _, r := range mess.ItemsOf[*mess.Response](th.Messages) {
		for _, e := range r.Content {
			media, ok := e.Media()
			if !ok || media.File == "" {
				continue
			}
			data, err := fs.attachment(ctx, p, th.Ref, media.File)
			if err != nil {
				notes = append(notes, fmt.Sprintf("%s cannot be sent: %v", media.File, err))
				continue
			}
			files = append(files, Attached{media.File, media.MIME, data, media.Extra.Text(descriptionKey)})
		}
	}
	return files, notes
}
