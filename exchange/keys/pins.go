package keys

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"github.com/messkit/messkit/mess/receipt"
)

// PinsFile is the file in the data folder with the receipt key of each executor: a JSON object from
// executor to public key. It contains no secret. A local operator may edit it.
const PinsFile = "receipt-keys.json"

// Pins reads the pinned keys from a data folder. The map is empty if there is no file.
func Pins(dir string) (map[string]string, error) {
	name := filepath.Join(dir, PinsFile)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	pins, err := parsePins(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; restore it from a copy, or remove it, and the exchange accepts the next keys", name, err)
	}
	return pins, nil
}

func parsePins(data []byte) (map[string]string, error) {
	pins := map[string]string{}
	if err := json.Unmarshal(data, &pins); err != nil {
		return nil, err
	}
	for executor, key := range pins {
		if _, err := receipt.PublicKey(key); err != nil {
			return nil, fmt.Errorf("%s: %w", executor, err)
		}
	}
	if pins == nil {
		return nil, errors.New("there is no mapping in it")
	}
	return pins, nil
}

// pins caches the file of pins.
type pins struct {
	changes changes[map[string]string]

	mu    sync.Mutex  // never held during a write
	busy  bool        // a write goes on: the cache counts
	file  os.FileInfo // nil if the cache does not count
	known map[string]string
	edits map[string]string // pins that somebody has written into the file, for the shared documents; nil without those
}

// read returns the pins, which the caller must not change. It reads the file again only after it
// has changed: a person may edit it, and an executor sends its key with each registration.
func (p *pins) read(dir string) (map[string]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy {
		return p.known, nil
	}
	file, err := os.Stat(filepath.Join(dir, PinsFile))
	if err == nil && p.file != nil && os.SameFile(file, p.file) && file.ModTime().Equal(p.file.ModTime()) && file.Size() == p.file.Size() {
		return p.known, nil
	}
	all, readErr := Pins(dir)
	if readErr != nil {
		return nil, readErr
	}
	for executor, key := range all {
		if p.edits != nil && p.known[executor] != key {
			p.edits[executor] = key
		}
	}
	if p.file, p.known = nil, all; err == nil {
		p.file = file
	}
	return all, nil
}

// save writes the pins to the disk, and then to the cache.
func (p *pins) save(dir string, next map[string]string) error {
	data, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	p.setBusy(true)
	defer p.setBusy(false)
	name := filepath.Join(dir, PinsFile)
	err = replace(name, data)
	file, statErr := os.Stat(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file = nil; err == nil && statErr == nil && file.Size() == int64(len(data)) {
		p.file, p.known = file, next
	}
	return err
}

func (p *pins) setBusy(busy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = busy
}

// Pin returns the receipt key that counts for an executor: the first that it has registered. For a
// new executor it pins key. New executors that come together share a write.
func (k *Keys) Pin(executor, key string) (first string, err error) {
	if k.docs != nil {
		return k.pinShared(executor, key)
	}
	p := &k.pins
	known, err := p.read(k.dir)
	if err != nil {
		return "", err
	}
	if first, ok := known[executor]; ok {
		return first, nil
	}
	err = k.changePins(func(next map[string]string) error {
		if _, ok := next[executor]; !ok {
			next[executor] = key
		}
		first = next[executor]
		return nil
	})
	if err != nil {
		return "", err
	}
	return first, nil
}

// changePins changes the file of pins.
func (k *Keys) changePins(do func(next map[string]string) error) error {
	return k.pins.changes.run(do, func() (map[string]string, error) {
		known, err := k.pins.read(k.dir)
		return maps.Clone(known), err
	}, func(next map[string]string) error { return k.pins.save(k.dir, next) })
}
