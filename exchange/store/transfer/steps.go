package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

const (
	// stepBytes is the size of the messages of one step, unless a single one is larger. A store
	// takes a record of 16 MiB.
	stepBytes = 4 << 20
	// maxAttachment is the largest attachment, in bytes.
	maxAttachment = 1 << 30
)

// checkRef refuses a thread whose name is no name of a folder: it could lead out of the target. Any program
// with access to the source chooses the names there.
func checkRef(ref string) error {
	if !messeaf.ValidRef(ref) {
		return fmt.Errorf("source: %q is no valid name of a thread; remove what another program has stored under it", ref)
	}
	return nil
}

// thread copies what the target lacks of a thread.
func (c *copying) thread(ctx context.Context, ref string) error {
	steps, rev, err := c.missing(ctx, ref)
	if err != nil || len(steps) == 0 {
		return err
	}
	for _, s := range steps {
		if s.Binds, err = c.stage(ctx, ref, s.Messages); err != nil {
			return err
		}
		s.After = rev
		if rev, err = c.to.store.Append(ctx, s); err != nil {
			return fmt.Errorf("target: %w", err)
		}
	}
	c.copied.Add(1)
	return nil
}

// missing returns the steps that lead from the thread in the target to that in the source, without
// their attachments, and the revision in the target.
func (c *copying) missing(ctx context.Context, ref string) ([]thread.Step, thread.Rev, error) {
	want, _, err := c.from.store.Read(ctx, ref)
	if err != nil {
		return nil, "", fmt.Errorf("source: %w", err)
	}
	var has thread.Thread
	var rev thread.Rev
	if _, known := c.to.threads[ref]; known {
		if has, rev, err = c.to.store.Read(ctx, ref); err != nil {
			return nil, "", fmt.Errorf("target: %w", err)
		}
	}
	steps, err := stepsBetween(has, want)
	if err != nil || len(steps) == 0 {
		return nil, rev, err
	}
	if steps[len(steps)-1].Keys, err = c.from.keys(ctx, want.Envelope); err != nil {
		return nil, "", fmt.Errorf("source: %w", err)
	}
	return steps, rev, nil
}

// keys returns the keys of a thread. Another thread may have the id of its requester, if another
// program has written one of them.
func (s *side) keys(ctx context.Context, e thread.Envelope) ([]thread.Key, error) {
	if e.ClientID == "" {
		return nil, nil
	}
	k := thread.Key{Owner: e.Requester, Name: e.ClientID}
	ref, err := s.store.Lookup(ctx, k)
	switch {
	case errors.Is(err, thread.ErrNoThread):
		return nil, nil
	case err != nil || ref != e.Ref:
		return nil, err
	}
	return []thread.Key{k}, nil
}

// verOf returns the version of a thread. The folder of a thread that has ended counts its messages, if
// there are more of them than steps.
func verOf(t thread.Thread) uint64 {
	if t.Status.Terminal() {
		return max(t.Ver, uint64(len(t.Messages)), 1)
	}
	return t.Ver
}

// stepsBetween returns the steps that lead from a thread, which may be empty, to a later state of it.
// A data folder takes one version after the other, so there is a step for each of them. The steps
// before the last one show the thread as unfinished.
func stepsBetween(has, want thread.Thread) ([]thread.Step, error) {
	from, to := uint64(0), verOf(want)
	if has.Ref != "" {
		from = verOf(has)
	}
	n := len(has.Messages)
	switch {
	case has.Status.Terminal() && want.Status.Terminal() && n == len(want.Messages) && sameMessages(has.Messages, want.Messages):
		return nil, nil // an archive does not have the version
	case from > to || n > len(want.Messages) || !sameMessages(has.Messages, want.Messages[:n]):
		return nil, refused("its thread %s has steps that the source has not; name an empty one", want.Ref)
	case from == to && n == len(want.Messages):
		return nil, nil // the comparison of the envelopes follows
	case from == to:
		return nil, refused("its thread %s has other messages than the source", want.Ref)
	}
	parts := inParts(want.Messages[n:])
	if has.Ref == "" {
		from = to - min(to, uint64(len(parts)))
	}
	steps := make([]thread.Step, to-from)
	for i := range steps {
		e := want.Envelope.Clone()
		if e.Ver = from + uint64(i) + 1; e.Ver < to && e.Status.Terminal() {
			e.Status, e.Phase = mess.InProgress, thread.Started
		}
		steps[i].Envelope = e
	}
	for i, part := range parts {
		at := min(max(0, len(steps)-len(parts))+i, len(steps)-1)
		steps[at].Messages = append(steps[at].Messages, part...)
	}
	return steps, nil
}

// inParts divides messages into parts of at most stepBytes; at least one part, which may be empty.
func inParts(all []mess.Message) [][]mess.Message {
	parts, size := [][]mess.Message{nil}, 0
	for _, m := range all {
		line, _ := m.JSON() // never fails
		if size += len(line); size > stepBytes && len(parts[len(parts)-1]) > 0 {
			parts, size = append(parts, nil), len(line)
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], m)
	}
	return parts
}

func sameMessages(a, b []mess.Message) bool {
	for i := range a {
		x, _ := a[i].JSON()
		y, _ := b[i].JSON()
		if !bytes.Equal(x, y) {
			return false
		}
	}
	return true
}

// stage stores the attachments of messages in the target, and returns their names. It leaves out those
// that the source does not have.
func (c *copying) stage(ctx context.Context, ref string, of []mess.Message) (binds []thread.Bind, err error) {
	for _, a := range attachments(thread.Thread{Messages: of}) {
		f, err := c.from.attachment(ctx, ref, a)
		if err != nil {
			return nil, fmt.Errorf("source: %s: %w", a.Name, err)
		}
		if f == nil {
			continue
		}
		staged, err := c.to.store.Stage(ctx, f, maxAttachment)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", a.Name, err)
		}
		if staged.SHA256 == a.SHA256 {
			binds = append(binds, thread.Bind{Name: a.Name, SHA256: a.SHA256})
		}
	}
	return binds, nil
}

// attachments returns the attachments of a thread, each name once.
func attachments(t thread.Thread) (list []thread.Attachment) {
	seen := map[string]bool{}
	for _, a := range t.Attachments() {
		if !seen[a.Name] {
			seen[a.Name], list = true, append(list, a)
		}
	}
	return list
}

// attachment opens an attachment, or returns nil if the store does not have it. The caller closes it.
func (s *side) attachment(ctx context.Context, ref string, a thread.Attachment) (io.ReadSeekCloser, error) {
	f, err := s.store.Blob(ctx, a.SHA256)
	if folders, ok := s.store.(thread.Folders); ok && errors.Is(err, thread.ErrNoBlob) {
		f, err = folders.Attachment(ctx, ref, a.Name)
	}
	if errors.Is(err, thread.ErrNoBlob) {
		return nil, nil
	}
	return f, err
}

// has reports whether the store has the bytes of an attachment.
func (s *side) has(ctx context.Context, ref string, a thread.Attachment) (bool, error) {
	f, err := s.attachment(ctx, ref, a)
	if err != nil || f == nil {
		return false, err
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)) == a.SHA256, errors.Join(err, f.Close())
}
