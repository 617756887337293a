// Package archive keeps the threads of an exchange that ended long ago in archives, in the folder
// archive of the exchange. It knows no log and no index: the ref of a thread determines its archive.
package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/store/files/tree"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess/messeaf"
)

// The ref of a thread determines its archive. A reader finds the archive without an index, and a
// start of the exchange reads no archive:
//
//	2026-08            the first 32 threads of each day of a month
//	2026-08-14         the threads of a day up to number 1000
//	2026-08-14-1001    the next 1000 threads of that day, and so on
//	other              threads without a day in their ref
const (
	firstOfDay     = 32
	threadsInBlock = 1000
)

// folder is the folder of the archives in the folder of an exchange.
const folder = "archive"

// Of returns the name of the archive that a thread belongs to.
func Of(ref string) string {
	if len(ref) < len(time.DateOnly) {
		return "other"
	}
	day := ref[:len(time.DateOnly)]
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return "other"
	}
	_, serial, _ := messeaf.ParseRef(ref)
	switch first := (serial-1)/threadsInBlock*threadsInBlock + 1; {
	case serial <= firstOfDay:
		return day[:len("2006-01")]
	case first == 1:
		return day
	default:
		return fmt.Sprintf("%s-%d", day, first)
	}
}

// Capacity returns the number of threads of a full archive.
func Capacity(name string) int {
	if len(name) == len(time.DateOnly) {
		return threadsInBlock - firstOfDay
	}
	return threadsInBlock
}

// PeriodEnd returns the time after which no time zone makes another thread for an archive. It is
// zero for an archive without a period.
func PeriodEnd(name string) time.Time {
	if month, err := time.Parse("2006-01", name); err == nil {
		return month.AddDate(0, 1, 1)
	}
	if len(name) >= len(time.DateOnly) {
		if day, err := time.Parse(time.DateOnly, name[:len(time.DateOnly)]); err == nil {
			return day.AddDate(0, 0, 2)
		}
	}
	return time.Time{}
}

// pathOf returns the path of an archive in the folder of an exchange.
func pathOf(name string) string { return path.Join(folder, name+messeaf.ZipExt) }

// aloneIn returns the path of the archive of one thread alone in the folder of an
// exchange. Move makes such archives.
func aloneIn(ref string) string {
	month := "other"
	if day, _, ok := strings.Cut(Of(ref), "other"); !ok {
		month = day[:len("2006-01")]
	}
	return path.Join(folder, month, ref+messeaf.ZipExt)
}

// Find returns the path of the archive that has a thread, in the folder of an
// exchange, or fs.ErrNotExist.
func Find(root *os.Root, ref string) (string, error) {
	if !messeaf.ValidRef(ref) {
		return "", fs.ErrNotExist
	}
	if info, err := root.Lstat(aloneIn(ref)); err == nil && info.Mode().IsRegular() {
		return aloneIn(ref), nil
	}
	name := pathOf(Of(ref))
	a, err := open(tree.Tree{Root: root}, name)
	if err != nil {
		return "", err
	}
	_, err = a.place(ref)
	if errors.Is(err, thread.ErrNoThread) {
		err = fs.ErrNotExist
	}
	return name, errors.Join(err, a.Close())
}
