package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Attach stages an attachment for a thread whose claim who holds, or that who
// has requested; after its end, for one who has held it, as late evidence. It
// becomes part of the thread when a message names it.
func (x *Exchange) Attach(ctx context.Context, who Actor, ref, name, mimeType string, data io.Reader) (mess.Media, error) {
	x.MarkAlive(who)
	t, err := x.Thread(ctx, who, ref)
	if err != nil {
		return mess.Media{}, err
	}
	if err := mayAttach(who, t.Envelope); err != nil {
		return mess.Media{}, err
	}
	if mimeType == "" {
		mimeType = mime.TypeByExtension(path.Ext(name))
	}
	if mimeType == "" {
		mimeType = "application/octet-stream"
	}
	room, most := x.reserve(t)
	source := &source{Reader: data}
	s, err := x.store.Stage(ctx, source, most)
	left := x.staged(room, most, s)
	switch {
	case source.err != nil: // the sender's fault, not the store's
		return mess.Media{}, fmt.Errorf("%s: %w", name, source.err)
	case errors.Is(err, ErrTooLarge) && most < x.cfg.MaxAttachment:
		return mess.Media{}, mess.Errorf(mess.TooLarge, "%s: the attachments of one thread may take %d bytes together, of which %d are left", name, x.cfg.MaxThreadAttachments, left)
	case errors.Is(err, ErrTooLarge):
		return mess.Media{}, mess.Errorf(mess.TooLarge, "%s: larger than %d bytes, which is the most that this exchange takes", name, x.cfg.MaxAttachment)
	case err != nil:
		return mess.Media{}, x.broken(err)
	case s.Size == 0:
		return mess.Media{}, mess.Errorf(mess.Invalid, "%s: is empty; send its bytes", name)
	}
	return mess.Media{File: messeaf.SafeName(name), MIME: mimeType, Size: &s.Size, SHA256: s.SHA256}, nil
}

func mayAttach(who Actor, e Envelope) error {
	switch {
	case e.Status.Terminal() && e.HasHeld(who.ID):
		return nil
	case e.Status.Terminal():
		r := mess.Errorf(mess.IllegalTransition, "it has ended, and takes no more files")
		r.Ref, r.Status = e.Ref, e.Status
		return r
	case who.ID != e.Requestor && who.ID != e.Executor && !who.Has(Operator):
		return mess.Errorf(mess.Forbidden, "only the holder of the claim and the requester may attach files")
	}
	return nil
}

// room is what was uploaded for a thread since the exchange has run.
type room struct {
	files    map[string]int64 // bytes by SHA-256
	reserved int64            // by uploads under way
	used     time.Time        // last
}

// lateRoomTime is how long what was uploaded for a thread that has ended counts.
const lateRoomTime = time.Hour

// tidyRooms forgets what was uploaded long ago for threads that have ended. x.open.mu is held.
func (x *Exchange) tidyRooms(now time.Time) {
	maps.DeleteFunc(x.open.rooms, func(ref string, r *room) bool {
		return x.open.byRef[ref] == nil && r.reserved == 0 && now.Sub(r.used) > lateRoomTime
	})
}

// fileCost is what a file counts at least: a block of the disk.
const fileCost = 4096

// reserve sets aside what the next upload for a thread may take. What the
// thread holds counts, and what was uploaded and not named in it yet.
func (x *Exchange) reserve(t Thread) (_ *room, most int64) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	r := x.open.rooms[t.Ref]
	if r == nil {
		r = &room{files: map[string]int64{}}
		x.open.rooms[t.Ref] = r
	}
	for _, a := range t.Attachments() {
		r.files[a.SHA256] = max(r.files[a.SHA256], a.Size, fileCost)
	}
	most = min(x.cfg.MaxAttachment, max(0, x.left(r)))
	r.reserved += most
	r.used = x.now()
	return r, most
}

// staged gives back what was reserved, counts what was stored, and returns what
// is left.
func (x *Exchange) staged(r *room, reserved int64, s Staged) int64 {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	r.reserved -= reserved
	if s.SHA256 != "" {
		r.files[s.SHA256] = max(s.Size, fileCost)
	}
	return max(0, x.left(r))
}

func (x *Exchange) left(r *room) int64 {
	left := x.cfg.MaxThreadAttachments - r.reserved
	for _, size := range r.files {
		left -= size
	}
	return left
}

// source notes why reading ended early.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// Attachment opens an attachment of a thread that who may see.
func (x *Exchange) Attachment(ctx context.Context, who Actor, ref, name string) (io.ReadSeekCloser, Attachment, error) {
	t, err := x.Thread(ctx, who, ref)
	if err != nil {
		return nil, Attachment{}, err
	}
	i := slices.IndexFunc(t.Attachments(), func(a Attachment) bool { return a.Name == name })
	if i < 0 {
		if a, data, ok := t.Inline(name); ok {
			return closer{bytes.NewReader(data)}, a, nil
		}
		return nil, Attachment{}, mess.Errorf(mess.NotFound, "%s has no attachment %q", t.Ref, name)
	}
	a := t.Attachments()[i]
	data, err := x.openFile(ctx, t.Ref, a.Name, a.SHA256)
	if errors.Is(err, ErrNoBlob) {
		return nil, Attachment{}, mess.Errorf(mess.NotFound, "%s has no attachment %q", t.Ref, name)
	}
	if err != nil {
		return nil, Attachment{}, x.broken(err)
	}
	return data, a, nil
}

// openFile opens a file of a thread, which the store has by its content, or in a folder.
func (x *Exchange) openFile(ctx context.Context, ref, name, sum string) (io.ReadSeekCloser, error) {
	data, err := x.store.Blob(ctx, sum)
	if folders, ok := x.store.(thread.Folders); ok && errors.Is(err, ErrNoBlob) {
		return folders.Attachment(ctx, ref, name)
	}
	return data, err
}

// bindAttachments gives the staged files that a message names the names that
// they have in the thread (MESSE-AF 2.1, "Attachment References"), and returns
// what is to be bound.
func bindAttachments(m *mess.Message, serial int) (binds []Bind) {
	m.Items = slices.Clone(m.Items)
	for i := range m.Items {
		list := messeaf.Contents(&m.Items[i])
		if list == nil {
			continue
		}
		for j, e := range *list {
			f, ok := e.Media()
			if !ok || f.File == "" || f.SHA256 == "" {
				continue
			}
			(*list)[j], binds = bound(e, f, serial, binds)
		}
	}
	return binds
}

// bound gives a staged file its name in the thread, which none of the others has.
func bound(e mess.Entry, f mess.Media, serial int, others []Bind) (mess.Entry, []Bind) {
	name := uniqueName(messeaf.AttachmentName(serial, e.Type, f.File), others)
	e.Value = e.Value.(mess.Object).Clone().Set("file", name)
	return e, append(others, Bind{Name: name, SHA256: f.SHA256})
}

func uniqueName(name string, taken []Bind) string {
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	for n := 2; slices.ContainsFunc(taken, func(b Bind) bool { return b.Name == name }); n++ {
		name = fmt.Sprintf("%s-%d%s", stem, n, ext)
	}
	return name
}

// closer is bytes that are closed like a file.
type closer struct{ *bytes.Reader }

func (closer) Close() error { return nil }
