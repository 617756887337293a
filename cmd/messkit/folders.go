package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/messkit/messkit/internal/strictyaml"
)

// folders tells folders for data that nobody could write; note is told of those that
// somebody else may: it need not be they who run messkit that check its configuration.
func (c *config) folders(note func(string)) error {
	if c == nil {
		return nil // the file could not be read
	}
	dirs := map[string]string{"agent": c.Agent.Data}
	if c.Exchange != nil {
		dirs["exchange"] = c.Exchange.Data
	}
	var wrong strictyaml.Problems
	told := map[string]bool{"": true} // an empty one has been told
	for _, part := range sorted(dirs) {
		key, dir := part+".data", dirs[part]
		if told[dir] && c.at.Under(part).Under("data").IsZero() {
			continue
		}
		told[dir] = true
		err := writable(dir)
		if p := c.at.Problem(key, "%v", err); errors.Is(err, fs.ErrPermission) && note != nil {
			note(p.Error() + "; who runs messkit must be able to")
		} else if err != nil {
			wrong = append(wrong, p)
		}
	}
	return wrong.Err()
}

// writable is why nothing can be written in a folder, or made where it is to be. What
// it writes it takes away again.
func writable(dir string) error {
	at := dir
	for {
		info, e := os.Stat(at)
		if e == nil && !info.IsDir() {
			return fmt.Errorf("%s is not a folder; write another one, or move it away", at)
		}
		if up := filepath.Dir(at); e != nil && !errors.Is(e, fs.ErrPermission) && up != at {
			at = up
			continue
		}
		break
	}
	made, err := os.MkdirTemp(at, ".check-*")
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w; write a folder on a disk of this machine", dir, err)
	}
	return os.Remove(made)
}
