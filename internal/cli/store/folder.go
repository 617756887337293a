package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/push"
	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/store/transfer"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/durable"
)

// folder is the store in a data folder, with the files beside it that are documents on NATS servers: keys
// of actors, receipt keys of executors, and the keys for push services. A copy treats them as all other
// documents. They come to the disk before the mark of the copy changes, and when the store closes.
type folder struct {
	*files.Store
	dir string

	mu    sync.Mutex
	keys  *keys.Folder
	push  []byte // content of its file; nil for none
	dirty bool
}

// The kinds of documents of channels begin with this.
const channelKinds = "door-"

const (
	pushKind = channelKinds + "push"
	pushID   = "keys"
	maxPush  = 4 << 10 // bytes
)

func openFolder(s *files.Store, dir string) (*folder, error) {
	f := &folder{Store: s, dir: dir}
	var err error
	if f.keys, err = keys.OpenFolder(dir); err != nil {
		return nil, err
	}
	f.push, err = durable.Read(filepath.Join(dir, push.KeyFile), maxPush)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return f, err
}

// isFile reports whether a document is in a file beside the store.
func (f *folder) isFile(kind string) bool {
	_, ok := f.keys.Channels()[strings.TrimPrefix(kind, channelKinds)]
	return ok && strings.HasPrefix(kind, channelKinds) || kind == pushKind
}

// get returns the content of a document in a file, or nil. The caller holds f.mu.
func (f *folder) get(kind, id string) []byte {
	if kind == pushKind {
		if id == pushID {
			return f.push
		}
		return nil
	}
	return f.keys.Channels()[strings.TrimPrefix(kind, channelKinds)][id]
}

// documents returns all documents in files, in order. The caller holds f.mu.
func (f *folder) documents() (all []thread.Change) {
	channels := f.keys.Channels()
	for _, channel := range slices.Sorted(maps.Keys(channels)) {
		for _, name := range slices.Sorted(maps.Keys(channels[channel])) {
			doc := channels[channel][name]
			all = append(all, thread.Change{Kind: channelKinds + channel, ID: name, Doc: doc, Rev: revOf(doc)})
		}
	}
	if f.push != nil {
		all = append(all, thread.Change{Kind: pushKind, ID: pushID, Doc: f.push, Rev: revOf(f.push)})
	}
	return all
}

// revOf returns the revision of a document in a file: the SHA-256 of its content.
func revOf(doc []byte) thread.Rev {
	if doc == nil {
		return ""
	}
	sum := sha256.Sum256(doc)
	return thread.Rev(hex.EncodeToString(sum[:]))
}

// Feed begins with the documents in files, and leaves out documents of the same kinds in the log, which
// an exchange on a folder does not read.
func (f *folder) Feed(ctx context.Context, after thread.Pos, fn func(thread.Change) error) error {
	first := after == ""
	return f.Store.Feed(ctx, after, func(c thread.Change) error {
		if first {
			first = false
			f.mu.Lock()
			all := f.documents()
			f.mu.Unlock()
			for _, one := range all {
				if err := fn(one); err != nil {
					return err
				}
			}
		}
		if c.Kind != "" && f.isFile(c.Kind) {
			return nil
		}
		return fn(c)
	})
}

// Put stores a document. Those in files come to the disk later.
func (f *folder) Put(ctx context.Context, kind, id string, doc []byte, after thread.Rev) (thread.Rev, error) {
	if !f.isFile(kind) {
		if kind == transfer.MarkKind {
			if err := f.save(); err != nil {
				return "", err
			}
		}
		return f.Store.Put(ctx, kind, id, doc, after)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if revOf(f.get(kind, id)) != after {
		return "", thread.ErrStale
	}
	f.dirty = true
	if kind == pushKind {
		if id != pushID {
			return "", errors.New("there is no file for it")
		}
		f.push = doc
		return revOf(doc), nil
	}
	return revOf(doc), f.keys.Put(strings.TrimPrefix(kind, channelKinds), id, doc)
}

// save writes the files if a document in them has changed.
func (f *folder) save() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.dirty {
		return nil
	}
	if err := f.keys.Save(); err != nil {
		return err
	}
	if f.push != nil {
		if err := durable.Replace(filepath.Join(f.dir, push.KeyFile), f.push); err != nil {
			return err
		}
	}
	f.dirty = false
	return nil
}

// Close writes the files, and closes the store.
func (f *folder) Close() error { return errors.Join(f.save(), f.Store.Close()) }
