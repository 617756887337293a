package edit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/messkit/messkit/internal/durable"
)

// MaxSize is the largest size of a configuration file that this package reads, in bytes.
const MaxSize = 4 << 20

// maxBackups is the number of backups that stay beside a file.
const maxBackups = 10

// backupTime is the time in the name of a backup, in UTC.
const backupTime = "20060102-150405.000"

// ErrChanged reports that another program has changed the file since the caller read it.
var ErrChanged = errors.New("another program has changed the file meanwhile; reload it, and make the change again")

// Revision returns the revision of a text: it changes with each change of the text. The revision of
// a missing file is "".
func Revision(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Read returns the text of a file and its revision. A file that does not exist has neither.
func Read(name string) (text []byte, revision string, err error) {
	text, err = durable.Read(name, MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	return text, Revision(text), nil
}

// Save writes a text to a file that still has a revision, and returns the name of the backup of the
// earlier text, "" if there was none. The file keeps its mode and its owner. After a power cut it
// has the earlier text or the new one. If the file has another revision, the error is ErrChanged,
// and nothing changes. The caller allows only one Save of a file at a time.
func Save(name string, text []byte, revision string, now time.Time) (backup string, err error) {
	name = target(name)
	old, is, err := Read(name)
	switch {
	case err != nil:
		return "", err
	case is != revision:
		return "", fmt.Errorf("%s: %w", name, ErrChanged)
	case is == "":
		if err := durable.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return "", err
		}
		return "", durable.Replace(name, text)
	}
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	backup = name + ".bak-" + now.UTC().Format(backupTime)
	if err := replace(backup, old, info); err != nil {
		return "", err
	}
	if err := replace(name, text, info); err != nil {
		return "", err
	}
	return backup, removeOldBackups(name)
}

// target returns the file to which a name leads: a link stays.
func target(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return name
}

// replace writes a file with the mode and the owner of another one.
func replace(name string, text []byte, like fs.FileInfo) error {
	next := name + ".new"
	if err := durable.Replace(next, text); err != nil {
		return err
	}
	err := os.Chmod(next, like.Mode().Perm())
	if owner, ok := like.Sys().(*syscall.Stat_t); ok && err == nil && os.Geteuid() == 0 { // another user cannot give a file away
		err = os.Chown(next, int(owner.Uid), int(owner.Gid))
	}
	if err == nil {
		err = os.Rename(next, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return durable.SyncDir(filepath.Dir(name))
}

// Backups returns the names of the backups of a file, without their folder, the newest first.
func Backups(name string) []string {
	name = target(name)
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		stamp, is := strings.CutPrefix(e.Name(), filepath.Base(name)+".bak-")
		if _, err := time.Parse(backupTime, stamp); is && err == nil && e.Type().IsRegular() {
			list = append(list, e.Name())
		}
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

// Backup returns the text of a backup that Backups lists.
func Backup(name, backup string) ([]byte, error) {
	if !slices.Contains(Backups(name), backup) {
		return nil, fmt.Errorf("there is no backup %q; reload the list", backup)
	}
	name = target(name)
	return durable.Read(filepath.Join(filepath.Dir(name), backup), MaxSize)
}

func removeOldBackups(name string) error {
	var errs []error
	for i, one := range Backups(name) {
		if i >= maxBackups {
			errs = append(errs, os.Remove(filepath.Join(filepath.Dir(name), one)))
		}
	}
	return errors.Join(errs...)
}
