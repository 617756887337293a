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
	// maxBlob is the limit of a file for a client, in bytes. It exceeds the default limit of an
	// exchange.
	maxBlob = 16 << 20
	// maxBusy is the number of files in memory at once. A small board decodes an image of 24
	// megapixels in 60 MB.
	maxBusy = 2
	// maxShown is the number of images in one result. The others are links.
	maxShown = 4
)

// imageOptions says whether a client wants images in the result, and how large.
type imageOptions struct {
	pictures bool
	limits   picture.Limits
}

// imageOptions reads the image options of a call.
func (a *arguments) imageOptions() imageOptions {
	bytes := a.number("image_max_bytes", 0, picture.MinBytes, picture.Ceiling)
	px := a.number("image_max_px", 0, picture.MinPx, 1<<16)
	return imageOptions{bytes > 0 || px > 0, picture.Limits{MaxBytes: int(bytes), MaxPx: int(px)}}
}

// resultWithFiles returns a report with links to the files of the executor, and with its images
// if the client wants them.
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

// imageContent returns an image within limits, or a text that says why there is none.
func (c *call) imageContent(ctx context.Context, f file, lim picture.Limits) sdk.Content {
	p, err := c.fitImage(ctx, f, lim)
	if err != nil {
		return &sdk.TextContent{Text: cleanLine(fmt.Sprintf("cannot show %s: %v; read it as a resource", f.uri, err))}
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

// file is a file that an executor has sent.
type file struct {
	uri, kind, name, mime, taken string
	size                         int64 // bytes; -1: unknown
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

// responseFiles returns the files in the responses of a thread, the newest first.
func responseFiles(t Thread) []file {
	var files []file
	for m, r := range mess.ItemsOf[*mess.Response](t.Messages) {
		for _, e := range r.Content {
			if f, ok := fileOf(placeOf(t.Ref, m), e); ok {
				files = append([]file{f}, files...)
			}
		}
	}
	return files
}

// fileOf returns an entry of a response as a file. ok is false if a client cannot fetch it.
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

// readFile reads a file by its content:// URI. The caller calls done to free its place in
// memory.
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

// findFile finds a file that a message of a thread names or contains.
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

// withoutMetadata removes EXIF, comments and other invisible data from an image. Other files
// stay as they are. The bytes decide, and not the media type of the sender.
func (b blob) withoutMetadata(ctx context.Context) (blob, error) {
	p, err := picture.Fit(ctx, b.data, picture.Limits{MaxBytes: picture.MaxBytes})
	switch {
	case ctx.Err() != nil:
		return blob{}, ctx.Err()
	case err == nil:
		return blob{p.MIME, p.Data}, nil
	case strings.HasPrefix(b.servedType(), "image/"):
		return blob{}, mess.Errorf(mess.Invalid, "the image is invalid, so its metadata would remain: %v; fetch it over HTTP", err)
	}
	return b, nil
}

// unknownType is the media type of unknown bytes.
const unknownType = "application/octet-stream"

// servedType returns the media type for a client. Types that can contain scripts become
// unknownType.
func (b blob) servedType() string {
	kind := strings.ToLower(b.mime)
	if kind == "" || strings.Contains(kind, "html") || strings.Contains(kind, "xml") || strings.HasPrefix(kind, "multipart/") || strings.Contains(kind, "script") {
		return unknownType
	}
	return cleanLine(b.mime)
}
