package keys

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

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

// pins caches the file of pins. Keys.change guards it.
type pins struct {
	file os.FileInfo
	all  map[string]string
}

// read reads the file again only after it has changed: a person may edit it, and an executor sends
// its key with each registration.
func (p *pins) read(dir string) (map[string]string, error) {
	file, err := os.Stat(filepath.Join(dir, PinsFile))
	if err == nil && p.file != nil && os.SameFile(file, p.file) && file.ModTime().Equal(p.file.ModTime()) && file.Size() == p.file.Size() {
		return p.all, nil
	}
	all, readErr := Pins(dir)
	if readErr != nil {
		return nil, readErr
	}
	if p.file, p.all = nil, all; err == nil {
		p.file = file
	}
	return all, nil
}

// Pin returns the receipt key that counts for an executor: the first that it has registered. For a
// new executor it pins key.
func (k *Keys) Pin(executor, key string) (first string, err error) {
	k.change.Lock()
	defer k.change.Unlock()
	pins, err := k.pins.read(k.dir)
	if err != nil {
		return "", err
	}
	if first, ok := pins[executor]; ok {
		return first, nil
	}
	next := maps.Clone(pins)
	next[executor] = key
	data, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return "", err
	}
	return key, replace(filepath.Join(k.dir, PinsFile), append(data, '\n'))
}
