package keys

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
)

// Folder has the keys and receipt keys in the files of a data folder, in the form in which exchanges on one
// store share them: documents of channels. No exchange may use the folder meanwhile. A Folder is not safe
// for concurrent use.
type Folder struct {
	dir  string
	docs map[string]map[string][]byte // by channel and name
}

// OpenFolder reads the files. A file that does not exist has no documents. Keys that the folder has only
// because its exchange shares them are not its own.
func OpenFolder(dir string) (*Folder, error) {
	f := &Folder{dir, map[string]map[string][]byte{keysChannel: {}, pinsChannel: {}}}
	name := filepath.Join(dir, keysFile)
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		holders, err := parse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; restore it from a copy", name, err)
		}
		maps.DeleteFunc(holders, func(_ string, h holder) bool { return h.Shared })
		r := newRing(holders)
		for actor := range r.of {
			if f.docs[keysChannel][actor], err = render(r.only(actor).holders); err != nil {
				return nil, err
			}
		}
	}
	pinned, err := Pins(dir)
	if err != nil {
		return nil, err
	}
	for executor, key := range pinned {
		f.docs[pinsChannel][executor] = []byte(key)
	}
	return f, nil
}

// Channels returns the documents by channel and name. The caller must not change them.
func (f *Folder) Channels() map[string]map[string][]byte { return f.docs }

// Put replaces a document in memory, or removes it if doc is nil. It returns an error for a document that
// is none of keys.
func (f *Folder) Put(channel, name string, doc []byte) error {
	docs, ok := f.docs[channel]
	switch {
	case !ok:
		return fmt.Errorf("%s is no channel of keys", channel)
	case doc == nil:
		delete(docs, name)
		return nil
	case channel == pinsChannel && !isReceiptKey(string(doc)):
		return fmt.Errorf("the receipt key of %s is unreadable", name)
	case channel == keysChannel:
		holders, err := parse(doc)
		if err != nil {
			return fmt.Errorf("the keys of %s: %w", name, err)
		}
		for _, h := range holders {
			if h.Actor != name || h.Shared {
				return fmt.Errorf("the keys of %s are those of another actor", name)
			}
		}
	}
	docs[name] = doc
	return nil
}

// Save writes the files, each as a whole, and reads them again. If the folder has no operator.key for the
// keys of the operator, its exchange makes a new one when it starts.
func (f *Folder) Save() error {
	all := map[string]holder{}
	for _, doc := range f.docs[keysChannel] {
		holders, err := parse(doc)
		if err != nil {
			return err
		}
		maps.Copy(all, holders)
	}
	pinned := map[string]string{}
	for executor, key := range f.docs[pinsChannel] {
		pinned[executor] = string(key)
	}
	for name, value := range map[string]any{keysFile: all, PinsFile: pinned} {
		data, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return err
		}
		if err := replace(filepath.Join(f.dir, name), append(data, '\n')); err != nil {
			return err
		}
	}
	is, err := OpenFolder(f.dir)
	if err != nil {
		return err
	}
	for channel, docs := range f.docs {
		if !maps.EqualFunc(docs, is.docs[channel], func(a, b []byte) bool { return string(a) == string(b) }) {
			return fmt.Errorf("%s: the files of the %s do not have what was written", f.dir, channel)
		}
	}
	return nil
}
