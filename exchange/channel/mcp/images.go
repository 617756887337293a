package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

const (
	// maxBlob is the largest file that is passed on, in bytes: more than an
	// exchange takes unless configured.
	maxBlob = 16 << 20
	// maxBusy is how many files may be in memory at once: a small board decodes a
	// picture of 24 megapixels in 60 MB.
	maxBusy = 2
	// maxShown is how many pictures one result shows; the others are links.
	maxShown = 4
)

// imageOptions is how a client wants pictures: as links alone, or shown as well.
type imageOptions struct {
	pictures bool
	limits   picture.Limits
}

// imageOptions reads how pictures are wanted.
func (a *arguments) imageOptions() imageOptions {
	bytes := a.number("image_max_bytes", 0, picture.MinBytes, picture.Ceiling)
	px := a.number("image_max_px", 0, picture.MinPx, 1<<16)
	return imageOptions{bytes > 0 || px > 0, picture.Limits{MaxBytes: int(bytes), MaxPx: int(px)}}
}

// resultWithFiles is a report with links to what the executor has sent, and with its
// pictures where they are wanted.
func (c *call) resultWithFiles(ctx context.Context, t Thread, how imageOptions, v *strictyaml.Value) *sdk.CallToolResult {
	res := result(v)
	files := responseFiles(t)
	shown := 0
	for _, f := range files {
		res.Content = append(res.Content, f.link())
		if !how.pictures || f.kind != "image" || shown == maxShown {
			continue
		}
		shown++
		res.Content = append(res.Content, c.imageContent(ctx, f, how.limits))
	}
	return res
}

// imageContent is a picture that fits, or why there is none.
func (c *call) imageContent(ctx context.Context, f file, lim picture.Limits) sdk.Content {
	p, err := c.fitImage(ctx, f, lim)
	if err != nil {
		return &sdk.TextContent{Text: cleanLine(fmt.Sprintf("%s cannot be shown: %v; read it as a resource", f.uri, err))}
	}
	return &sdk.ImageContent{Data: p.Data, MIMEType: p.MIME}
}

func (c *call) fitImage(ctx context.Context, f file, lim picture.Limits) (picture.Picture, error) {
	b, done, err := c.readFile(ctx, f.uri)
	if err != nil {
		return picture.Picture{}, err
	}
	defer done()
	return picture.Fit(ctx, b.data, lim)
}

// file is something that an executor has sent.
type file struct {
	uri, kind, name, mime, taken string
	size                         int64 // bytes, -1 if nobody said
}

func (f file) link() *sdk.ResourceLink {
	l := &sdk.ResourceLink{URI: f.uri, Name: f.name, MIMEType: f.mime}
	if f.size >= 0 {
		l.Size = &f.size
	}
	if f.taken != "" {
		l.Description = "taken at " + f.taken
	}
	return l
}

// responseFiles are the files of the responses of a thread, the newest first.
func responseFiles(t Thread) []file {
	var files []file
	for _, m := range t.Messages {
		for _, item := range m.Items {
			r, ok := item.(*mess.Response)
			if !ok {
				continue
			}
			for _, e := range r.Content {
				if f, ok := fileOf(placeOf(t.Ref, m), e); ok {
					files = append([]file{f}, files...)
				}
			}
		}
	}
	return files
}

// fileOf is a piece of content that can be fetched.
func fileOf(at messagePlace, e mess.Entry) (file, bool) {
	media, ok := e.Media()
	if !ok {
		return file{}, false
	}
	f := file{kind: e.Type, mime: cleanLine(media.MIME), taken: cleanLine(string(media.CapturedAt)), size: -1}
	if b, ok := parseData(media.URI); ok {
		f.name, f.size = b.name(at.serial), int64(len(b.data))
		f.uri, f.mime = at.uri(f.name), cleanLine(b.mime)
		return f, true
	}
	if !messeaf.ValidAttachment(media.File) {
		return file{}, false
	}
	f.name, f.uri = media.File, messeaf.Resource(at.thread, media.File)
	if media.Size != nil {
		f.size = *media.Size
	}
	return f, true
}

// readFile reads a file by its content:// URI. done frees its place in memory.
func (s *Server) readFile(ctx context.Context, uri string) (_ blob, done func(), err error) {
	thread, message, name, err := messeaf.ParseResource(uri)
	if err != nil {
		return blob{}, nil, mess.Errorf(mess.NotFound, "%v", err)
	}
	select {
	case s.fileSlots <- struct{}{}:
	case <-ctx.Done():
		return blob{}, nil, ctx.Err()
	}
	done = func() { <-s.fileSlots }
	b, err := s.findFile(ctx, thread, message, name)
	if err != nil {
		done()
		return blob{}, nil, err
	}
	return b, done, nil
}

// findFile finds a file among those that the messages of a thread name or hold.
func (s *Server) findFile(ctx context.Context, thread, message, name string) (blob, error) {
	t, err := s.x.Thread(ctx, thread)
	if err != nil {
		return blob{}, err
	}
	for _, m := range t.Messages {
		at := placeOf(t.Ref, m)
		if message != "" && message != t.Ref+"/"+at.message {
			continue
		}
		if b, ok := at.findInline(m.Document(), name); ok {
			return b, nil
		}
		if namesAttachment(m, name) {
			return s.attachment(ctx, t.Ref, name)
		}
	}
	return blob{}, mess.Errorf(mess.NotFound, "%s has no attachment %q", t.Ref, name)
}

// namesAttachment reports whether a message names an attachment.
func namesAttachment(m mess.Message, name string) bool {
	for _, item := range m.Items {
		for _, e := range messeaf.Content(item) {
			if media, ok := e.Media(); ok && media.File == name {
				return true
			}
		}
	}
	return false
}

func (s *Server) attachment(ctx context.Context, ref, name string) (b blob, err error) {
	data, mime, err := s.x.Attachment(ctx, ref, name)
	if err != nil {
		return blob{}, err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	all, err := io.ReadAll(io.LimitReader(data, maxBlob+1))
	if err != nil {
		return blob{}, err
	}
	if len(all) > maxBlob {
		return blob{}, mess.Errorf(mess.TooLarge, "%s: larger than %d bytes; fetch it over HTTP", name, maxBlob)
	}
	return blob{mime, all}, nil
}

// withoutMetadata is a picture without EXIF, comments and all else that a viewer
// does not show, and every other file as it is. What the bytes are counts, and not
// what the sender says of them.
func (b blob) withoutMetadata(ctx context.Context) (blob, error) {
	p, err := picture.Fit(ctx, b.data, picture.Limits{MaxBytes: picture.MaxBytes})
	switch {
	case ctx.Err() != nil:
		return blob{}, ctx.Err()
	case err == nil:
		return blob{p.MIME, p.Data}, nil
	case strings.HasPrefix(b.servedType(), "image/"):
		return blob{}, mess.Errorf(mess.Invalid, "the picture cannot be read, so its metadata cannot be removed: %v; fetch it over HTTP", err)
	}
	return b, nil
}

// unknownType is the media type of bytes of which nothing is known.
const unknownType = "application/octet-stream"

// servedType is the media type under which bytes go out: what runs scripts is bytes.
func (b blob) servedType() string {
	kind := strings.ToLower(b.mime)
	if kind == "" || strings.Contains(kind, "html") || strings.Contains(kind, "xml") || strings.HasPrefix(kind, "multipart/") || strings.Contains(kind, "script") {
		return unknownType
	}
	return cleanLine(b.mime)
}
