package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/internal/terminal"
	"github.com/messkit/messkit/mess"
)

// Folder makes the folder for attachments before the request, so that an error comes before
// any action. Without a wait there is no folder.
func (w *FollowOptions) Folder(c *cobra.Command) error {
	if !w.Wait {
		return nil
	}
	if err := os.MkdirAll(w.SaveDir, 0o777); err != nil {
		return output.Usagef(c, "--save: %v; name another folder", err)
	}
	return nil
}

// Save writes the attachments of a response to files.
func (f *Follower) Save(ctx context.Context, m mess.Message) error {
	for _, item := range m.Items {
		r, ok := item.(*mess.Response)
		if !ok {
			continue
		}
		for _, e := range r.Content {
			if media, ok := e.Media(); ok {
				if err := f.saveMedia(ctx, media); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// saveMedia writes one attachment to a new file, prints its name, and shows the image if the
// terminal can.
func (f *Follower) saveMedia(ctx context.Context, media mess.Media) error {
	data, name, err := mediaBytes(ctx, f.x, f.ref, media)
	if err != nil || data == nil {
		return err
	}
	defer data.Close()
	name = filepath.Join(f.w.SaveDir, strings.ReplaceAll(f.ref, "/", "-")+"-"+name)
	n, err := WriteFile(name, data)
	if err != nil {
		return output.Hint(err, "choose another folder with --save; the file stays with the exchange: messkit show %s --save FOLDER", f.ref)
	}
	out := f.out
	if f.w.AsJSON {
		out = f.app.Err // standard output has JSON alone
	} else if err := f.inline(ctx, name); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "saved %s (%d KB)\n", name, (n+1023)>>10)
	return err
}

// maxShown is the largest file that the terminal shows, in bytes: that of an attachment.
const maxShown = 10 << 20

// inline shows an image file, if the terminal can.
func (f *Follower) inline(ctx context.Context, name string) error {
	in, ok := f.app.In.(*os.File)
	if f.live == nil || !ok || f.keys.busy { // typed text must not count as an answer of the terminal
		return nil
	}
	data, err := os.ReadFile(name)
	if err != nil || len(data) > maxShown {
		return err
	}
	info, err := picture.Inspect(data)
	if err != nil {
		return nil // the file is no image
	}
	d := f.app.Display(in)
	if d.Graphics == terminal.NoGraphics {
		return nil
	}
	m, err := fitted(ctx, data, info, d)
	if err != nil {
		return nil // the file stays for other programs
	}
	shown, err := d.Picture(m)
	if err != nil || shown == nil {
		return err
	}
	return f.live.Raw(shown)
}

// fitted scales an image to the size of the terminal.
func fitted(ctx context.Context, data []byte, info picture.Info, d terminal.Display) (image.Image, error) {
	w, h := d.Room()
	if info.Width < 1 || info.Height < 1 {
		return nil, errors.New("it has no size")
	}
	scale := min(float64(w)/float64(info.Width), float64(h)/float64(info.Height), 1)
	edge := max(1, int(scale*float64(max(info.Width, info.Height))))
	p, err := picture.Fit(ctx, data, picture.Limits{MaxPx: edge})
	if err != nil {
		return nil, err
	}
	if p.MIME == "image/png" {
		return png.Decode(bytes.NewReader(p.Data))
	}
	return jpeg.Decode(bytes.NewReader(p.Data))
}

// mediaBytes opens the attachment or the data URI of a content entry.
func mediaBytes(ctx context.Context, x *httpclient.Client, ref string, media mess.Media) (io.ReadCloser, string, error) {
	if media.File != "" {
		data, _, err := x.Attachment(ctx, ref, media.File)
		return data, strings.TrimPrefix(filepath.Base(media.File), "att-"), err
	}
	if mime, data, ok := mess.ParseDataURI(media.URI); ok {
		name := "content" + extension(mime)
		if media.Name != "" {
			name = filepath.Base(media.Name)
		}
		return io.NopCloser(strings.NewReader(string(data))), name, nil
	}
	return nil, "", nil
}

func extension(mime string) string {
	if _, sub, ok := strings.Cut(mime, "/"); ok && !strings.ContainsAny(sub, "./\\+;") {
		return "." + strings.Replace(sub, "jpeg", "jpg", 1)
	}
	return ".bin"
}

// WriteFile writes a complete file or none.
func WriteFile(name string, data io.Reader) (int64, error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".messkit-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name()) // does not exist after success
	n, err := io.Copy(f, data)
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return 0, err
	}
	return n, os.Rename(f.Name(), name)
}
