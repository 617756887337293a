// Package snapshot keeps the last changes of a store, so that a new exchange reads them instead of all
// steps since the beginning.
//
// A snapshot is a compacted feed. It has the last change of each thread and of each document up to a
// position, in the order of the feed: the envelope of an open thread, an outline of an ended one, and the
// content of a document. The changes after the position come from the feed itself. So an exchange has the
// same state as after a full feed, and decides nothing that it would not decide then: each step still
// names the revision that the store compares.
//
// A snapshot consists of segments. Each has the last changes of one range of positions. A Writer adds a
// segment with the changes since the last one, and merges it with earlier ones that are not at least twice as
// large. So it writes each change about as often as the number of changes can be halved. The parts of
// a segment are objects, and a manifest in the stream of the store names them with their SHA-256. The manifest
// is replaced only if no other Writer has replaced it, and an object is never changed. So a Writer that
// is killed leaves the snapshot as it was.
package snapshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Version is the version of manifests and parts. A reader ignores other versions, and a Writer does not
// replace a later one.
const Version = 1

// MaxAge is the age from which on a reader does not use a snapshot, and a Writer begins from nothing. The
// stream may have forgotten that a thread has left it since. A stream must remember that for much longer.
const MaxAge = 7 * 24 * time.Hour

// Home is where the snapshot of a store is. Its errors are those of the store and of ctx.
type Home interface {
	// Stream returns a name of the stream that no other one has had: positions are valid in one stream.
	Stream() string
	// Manifest returns the manifest and its revision; nil and 0 for none.
	Manifest(ctx context.Context) (data []byte, rev uint64, err error)
	// SetManifest replaces the manifest of a revision. It returns thread.ErrStale if the manifest has another
	// revision, and can return it if it has stored this one.
	SetManifest(ctx context.Context, data []byte, after uint64) (rev uint64, err error)
	// PutObject stores an object under a name that none has.
	PutObject(ctx context.Context, name string, data []byte) error
	// Object returns an object, or thread.ErrNoBlob.
	Object(ctx context.Context, name string) ([]byte, error)
	// DeleteObject removes an object, or returns thread.ErrNoBlob.
	DeleteObject(ctx context.Context, name string) error
	// Count returns the number of messages after a position.
	Count(ctx context.Context, after uint64) (uint64, error)
	// Tail calls fn with all changes after a position, up to the present.
	Tail(ctx context.Context, after uint64, fn func(Entry) error) error
}

// manifest describes a snapshot.
type manifest struct {
	Version  int            `json:"version"`
	Stream   string         `json:"stream"`
	Pos      uint64         `json:"position"` // the snapshot has the changes up to here
	At       time.Time      `json:"at"`       // when a writer last read up to the end of the stream, or began from nothing
	Serials  map[string]int `json:"serials,omitempty"`
	Segments []segment      `json:"segments,omitempty"` // oldest first

	Begun []begun    `json:"begun,omitempty"` // objects of writers that have not finished
	Old   []replaced `json:"old,omitempty"`   // objects to remove
}

// segment has the last changes of a range of positions.
type segment struct {
	Entries int    `json:"entries"`
	Parts   []part `json:"parts"`
}

// part is one object.
type part struct {
	Name   string `json:"name"`
	Size   int    `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// begun is the work of a writer: its objects have names with the id.
type begun struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

// replaced is an object that the manifest does not need any more. Readers of an earlier manifest can still
// read it.
type replaced struct {
	Name string    `json:"name"`
	At   time.Time `json:"at"`
}

// errOtherVersion is the error for a manifest of another version.
type errOtherVersion int

func (e errOtherVersion) Error() string {
	return fmt.Sprintf("it has version %d, and this messkit knows %d", int(e), Version)
}

// parseManifest reads a manifest of a stream.
func parseManifest(data []byte, stream string) (m manifest, err error) {
	var v struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return manifest{}, fmt.Errorf("its manifest: %w", err)
	}
	if v.Version != Version {
		return manifest{}, errOtherVersion(v.Version)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return manifest{}, fmt.Errorf("its manifest: %w", err)
	}
	if m.Stream != stream {
		return manifest{}, fmt.Errorf("it is that of the stream %q, and this one is %q", m.Stream, stream)
	}
	for _, s := range m.Segments {
		if len(s.Parts) == 0 || s.Entries < 1 {
			return manifest{}, errors.New("its manifest: a segment is empty")
		}
	}
	return m, nil
}

// size returns the size of all parts, in bytes.
func (m *manifest) size() (n int) {
	for _, s := range m.Segments {
		for _, p := range s.Parts {
			n += p.Size
		}
	}
	return n
}

// Objects have names that no attachment has: those are SHA-256 in hexadecimal.
func objectName(id string, n int) string { return fmt.Sprintf("snapshot-%s-%d", id, n) }
