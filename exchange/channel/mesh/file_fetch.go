package mesh

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/mess"
)

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
