package durable

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// mark is the name of a file in a data folder that shows that a program has run with it.
const mark = "used"

const markText = "messkit has run with this folder. If a file is missing here, somebody has removed it.\n"

// Use marks a data folder as complete. From then on Used returns true, also if a part is missing.
func Use(data string, names ...string) error {
	if Used(data) {
		return nil
	}
	for _, name := range names {
		if !There(filepath.Join(data, name)) {
			return nil
		}
	}
	return Replace(filepath.Join(data, mark), []byte(markText))
}

// Used reports whether a program has run with a data folder.
func Used(data string) bool { return There(filepath.Join(data, mark)) }

// There reports whether a name exists; it returns true if that is unknown. A path through a
// regular file does not exist.
func There(name string) bool {
	_, err := os.Lstat(name)
	return !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}
