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
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/exchange/transition"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Attach stages an attachment for a thread. The holder of the claim, the requester and operators
// may do that. After the end every former holder of the claim may, for late evidence. mimeType may
// be "". The attachment becomes part of the thread with the first message that names it. The error
// is a *mess.Error, or the error with which reading data ended.
func (x *Exchange) Attach(ctx context.Context, actor Actor, ref, name, mimeType string, data io.Reader) (mess.Media, error) {
	x.MarkAlive(actor)
	t, err := x.Thread(ctx, actor, ref)
	if err != nil {
		return mess.Media{}, err
	}
	if err := checkAttach(actor, t.Envelope); err != nil {
		return mess.Media{}, err
	}
	if mimeType == "" {
		mimeType = mime.TypeByExtension(path.Ext(name))
	}
	if mimeType == "" {
		mimeType = "application/octet-stream"
	}
	quota, most := x.uploads.reserve(t, x.cfg.MaxAttachment, x.cfg.MaxThreadAttachments, x.now())
	source := &source{Reader: data}
	s, err := x.store.Stage(ctx, source, most)
	left := x.uploads.finish(quota, most, s, x.cfg.MaxThreadAttachments)
	switch {
	case source.err != nil: // an error of the sender, not of the store
		return mess.Media{}, fmt.Errorf("%s: %w", name, source.err)
	case errors.Is(err, ErrTooLarge) && most < x.cfg.MaxAttachment:
		return mess.Media{}, mess.Errorf(mess.TooLarge, "%s: the attachments of one thread may take %d bytes together, and %d remain", name, x.cfg.MaxThreadAttachments, left)
	case errors.Is(err, ErrTooLarge):
		return mess.Media{}, mess.Errorf(mess.TooLarge, "%s: larger than %d bytes, which is the most that this exchange takes", name, x.cfg.MaxAttachment)
	case err != nil:
		return mess.Media{}, x.storeError(err)
	case s.Size == 0:
		return mess.Media{}, mess.Errorf(mess.Invalid, "%s: is empty; send its bytes", name)
	}
	return mess.Media{File: messeaf.SafeName(name), MIME: mimeType, Size: &s.Size, SHA256: s.SHA256}, nil
}

func checkAttach(actor Actor, e Envelope) error {
	switch {
	case e.Status.Terminal() && e.HasHeld(actor.ID):
		return nil
	case e.Status.Terminal():
		r := mess.Errorf(mess.IllegalTransition, "it has ended, and takes no more files")
		r.Ref, r.Status = e.Ref, e.Status
		return r
	case actor.ID != e.Requester && actor.ID != e.Executor && !actor.Has(Operator):
		return mess.Errorf(mess.Forbidden, "only the holder of the claim and the requester may attach files")
	}
	return nil
}

// source records the error with which reading ended early.
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

// Attachment opens an attachment of a thread that the actor may see. The caller closes it. The
// error is a *mess.Error.
func (x *Exchange) Attachment(ctx context.Context, actor Actor, ref, name string) (io.ReadSeekCloser, Attachment, error) {
	t, err := x.Thread(ctx, actor, ref)
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
		return nil, Attachment{}, x.storeError(err)
	}
	return data, a, nil
}

// openFile opens a file of a thread, from the blobs of the store or from its folder.
func (x *Exchange) openFile(ctx context.Context, ref, name, sum string) (io.ReadSeekCloser, error) {
	data, err := x.store.Blob(ctx, sum)
	if folders, ok := x.store.(thread.Folders); ok && errors.Is(err, ErrNoBlob) {
		return folders.Attachment(ctx, ref, name)
	}
	return data, err
}

// closer gives a bytes.Reader a Close.
type closer struct{ *bytes.Reader }

func (closer) Close() error { return nil }

// stage stages the files of a message before the store gets the message.
func (x *Exchange) stage(ctx context.Context, files [][]byte) error {
	for _, data := range files {
		if _, err := x.store.Stage(ctx, bytes.NewReader(data), int64(len(data))); err != nil {
			return x.storeError(err)
		}
	}
	return nil
}

// uploads counts the bytes that actors have uploaded for each thread since the start of the
// exchange, so that the attachments of one thread stay below a limit.
type uploads struct {
	mu       sync.Mutex
	byThread map[string]*uploadQuota
}

// uploadQuota is the count of one thread. uploads.mu guards it.
type uploadQuota struct {
	files    map[string]int64 // bytes by SHA-256
	reserved int64            // bytes, by running uploads
	used     time.Time        // last upload
}

// Limits of uploads.
const (
	lateUploadTime = time.Hour // lifetime of the count of an ended thread after its last upload
	minFileCost    = 4096      // bytes that a file counts at least: a block of the disk
)

// reserve reserves the bytes that the next upload for a thread may have: at most perFile, and
// with all files of the thread at most perThread. Files that no message names yet count too.
func (u *uploads) reserve(t Thread, perFile, perThread int64, now time.Time) (_ *uploadQuota, most int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	q := u.byThread[t.Ref]
	if q == nil {
		q = &uploadQuota{files: map[string]int64{}}
		u.byThread[t.Ref] = q
	}
	for _, a := range t.Attachments() {
		q.files[a.SHA256] = max(q.files[a.SHA256], a.Size, minFileCost)
	}
	most = min(perFile, q.left(perThread))
	q.reserved += most
	q.used = now
	return q, most
}

// finish releases a reservation, counts the file that the store has staged, if any, and returns
// the bytes that remain.
func (u *uploads) finish(q *uploadQuota, reserved int64, s Staged, perThread int64) (left int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	q.reserved -= reserved
	if s.SHA256 != "" {
		q.files[s.SHA256] = max(s.Size, minFileCost)
	}
	return q.left(perThread)
}

func (q *uploadQuota) left(perThread int64) int64 {
	left := perThread - q.reserved
	for _, size := range q.files {
		left -= size
	}
	return max(0, left)
}

// forget drops the count of a thread that has ended.
func (u *uploads) forget(ref string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.byThread, ref)
}

// removeLate drops the counts of late uploads: those for threads that are not open any more.
func (u *uploads) removeLate(isOpen func(ref string) bool, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.byThread, func(ref string, q *uploadQuota) bool {
		return !isOpen(ref) && q.reserved == 0 && now.Sub(q.used) > lateUploadTime
	})
}

// contextRefs returns the requests that the context of a request names (MESS 1.0 section 2.4): by
// entries of type ref, or by a field ref.
func contextRefs(r *mess.Request) (names []string) {
	for _, e := range r.Context {
		if name, ok := e.Value.(string); ok && e.Type == "ref" {
			names = append(names, name)
		}
	}
	if name := r.Extra.Text("ref"); name != "" {
		names = append(names, name)
	}
	return names
}

// withContextRefs adds to each ref in the context of a request the thread, its intent and its
// images. The executor needs them because it does not know the ids of the requester, and may not
// read every thread. The error is a *mess.Error for an unknown request.
func (x *Exchange) withContextRefs(ctx context.Context, s submission) (*mess.Request, error) {
	names := contextRefs(s.req)
	if len(names) == 0 {
		return s.req, nil
	}
	known := map[string]Thread{}
	for _, name := range names {
		at := name
		if ref, ok := s.batch[name]; ok && ref == name {
			continue // the thread does not exist yet
		} else if ok {
			at = ref
		}
		t, err := x.Thread(ctx, s.in.Actor, at)
		switch {
		case errors.Is(err, mess.NotFound):
			return nil, mess.Errorf(mess.MissingReference, "request.context: ref: there is no request %.60q; send it first, or leave the entry out", name)
		case err != nil:
			return nil, err
		}
		known[name] = t
	}
	req := *s.req
	req.Context = slices.Clone(req.Context)
	for i, e := range req.Context {
		name, ok := e.Value.(string)
		if !ok || e.Type != "ref" {
			continue
		}
		req.Context[i].Extra = slices.Clone(e.Extra).Set("thread", known[name].Ref).Set("intent", known[name].Intent)
		if list := imagesOf(known[name]); len(list) > 0 {
			req.Context[i].Extra = req.Context[i].Extra.Set("pictures", list)
		}
	}
	return &req, nil
}

// withoutContextRefs removes what withContextRefs has added, because "last" names another thread
// when the same message arrives again.
func withoutContextRefs(r *mess.Request) mess.Request {
	req := *r
	req.Context = slices.Clone(req.Context)
	for i, e := range req.Context {
		if e.Type == "ref" {
			req.Context[i].Extra = slices.DeleteFunc(slices.Clone(e.Extra), func(f mess.Field) bool { return f.Key == "thread" || f.Key == "intent" || f.Key == "pictures" })
		}
	}
	return req
}

// EarlierKey is the field of an image in a response that names the earlier thread of the image.
const EarlierKey = "earlier"

// maxEarlierImages is the number of images of an earlier thread in a request: the last ones.
const maxEarlierImages = 8

// imagesOf returns the images of the executors of a thread, in the form in which a response
// delivers them again.
func imagesOf(t Thread) (list []any) {
	for _, m := range t.Messages {
		for _, item := range m.Items {
			for _, e := range messeaf.Content(item) {
				f, ok := e.Media()
				if !ok || e.Type != "image" || m.From == t.Requester || !messeaf.ValidAttachment(f.File) || f.SHA256 == "" {
					continue
				}
				f.URI, f.Resource, f.Name, f.Extra = "", "", "", mess.Object{{Key: EarlierKey, Value: t.Ref}}
				list = append(list, mess.ObjectEntry("image", f).Value)
			}
		}
	}
	return list[max(0, len(list)-maxEarlierImages):]
}

// copyEarlierImages stages the bytes of the earlier images in a message. It rejects an image that
// the named thread does not have, because the time and the ref of an image must be true.
func (x *Exchange) copyEarlierImages(ctx context.Context, t *transition.Effect) error {
	for _, item := range t.Message.Items {
		for _, e := range messeaf.Content(item) {
			f, ok := e.Media()
			if ref := f.Extra.Text(EarlierKey); ok && ref != "" {
				if err := x.copyEarlierImage(ctx, t, ref, f); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (x *Exchange) copyEarlierImage(ctx context.Context, t *transition.Effect, ref string, f mess.Media) error {
	own, err := x.read(ctx, t.Env.Ref)
	if err != nil {
		return x.storeError(err)
	}
	none := mess.Errorf(mess.MissingReference, "image: earlier: %.60q has no such picture, or the request does not mention it", ref)
	if !slices.ContainsFunc(own.Request().Context, func(e mess.Entry) bool { return e.Type == "ref" && e.Extra.Text("thread") == ref }) {
		return none
	}
	was, err := x.read(ctx, ref)
	if err != nil {
		return none
	}
	list := imagesOf(was)
	i := slices.IndexFunc(list, func(one any) bool {
		m, _ := mess.Entry{Type: "image", Value: one}.Media()
		return m.SHA256 == f.SHA256 && m.CapturedAt == f.CapturedAt
	})
	if i < 0 {
		return none
	}
	m, _ := mess.Entry{Type: "image", Value: list[i]}.Media()
	data, err := x.openFile(ctx, ref, m.File, m.SHA256)
	if err != nil {
		return none
	}
	defer data.Close() //nolint:errcheck // it was only read
	if _, err := x.store.Stage(ctx, data, x.cfg.MaxAttachment); err != nil {
		return x.storeError(err)
	}
	return nil
}
