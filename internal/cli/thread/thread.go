// Package thread has the commands for threads in the data folder: list, show, check,
// verify, export, import and archive.
package thread

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/store/files/archive"
	"github.com/messkit/messkit/exchange/store/files/tree"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/mess/messeaf"
)

// Command returns the command messkit thread.
func Command(a *output.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "thread COMMAND",
		Short: "Read, check, archive and move threads on the disk",
		Long: `Read, check, archive and move threads on the disk, without an exchange. Name a thread
by its ref in the data folder, or by a path: of its folder, of a v1 file, or of an
archive.`,
		Example: `  messkit thread show 2026-11-21-003
  messkit thread check ~/backup/mess`,
		Args: cobra.NoArgs,
	}
	c.AddCommand(threadListCommand(a), threadShowCommand(a), threadCheckCommand(a), threadArchiveCommand(a, "archive [REF...]"), threadExportCommand(a), threadImportCommand(a), threadVerifyCommand(a), threadKeyCommand(a))
	return c
}

// OnDisk is a thread on the disk.
type OnDisk struct {
	messeaf.Place
	Fsys fs.FS
	In   string // path of the folder or archive
}

// name returns the path of the thread, for people.
func (t OnDisk) name() string { return filepath.Join(t.In, t.Path) }

// ThreadsIn lists the threads of a folder, of an archive, or of one file.
func ThreadsIn(name string) ([]OnDisk, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	var fsys fs.FS
	switch {
	case info.IsDir():
		fsys = tree.Dir(name)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: is neither a folder nor a regular file", name)
	case strings.HasSuffix(name, ".zip"):
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if fsys, err = messeaf.OpenArchive(bytes.NewReader(data), int64(len(data))); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	default:
		t, err := oneFile(name)
		return []OnDisk{t}, err
	}
	places, err := messeaf.List(fsys)
	if err != nil {
		return nil, err
	}
	all := make([]OnDisk, len(places))
	for i, p := range places {
		all[i] = OnDisk{p, fsys, name}
	}
	return all, nil
}

// oneFile returns the thread in a v1 file. It follows a link only to a file of the same name,
// as the flat layout of MESSE-AF has it.
func oneFile(name string) (OnDisk, error) {
	to, err := filepath.EvalSymlinks(name)
	if err != nil {
		return OnDisk{}, err
	}
	base := filepath.Base(name)
	if filepath.Base(to) != base {
		return OnDisk{}, fmt.Errorf("%s: is a symbolic link to %s, which has another name; write the path of that file", name, to)
	}
	ref := strings.TrimSuffix(strings.TrimSuffix(base, messeaf.Ext), messeaf.ShortExt)
	return OnDisk{messeaf.Place{Ref: ref, Path: base, Flat: true}, tree.Dir(filepath.Dir(to)), filepath.Dir(to)}, nil
}

// notThere adds a remedy to the error for a missing folder or file of threads.
func notThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return output.Hint(err, "write where the threads are: a folder, an archive, or --data and a ref")
	}
	return err
}

var errNoThread = errors.New("there is no such thread")

// findThread finds one thread by its ref in the data folder or its archive, or
// by a path.
func findThread(data, arg string) (OnDisk, error) {
	if messeaf.ValidRef(arg) {
		all, err := ThreadsIn(data)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return OnDisk{}, err
		}
		switch t, err := onlyOne(arg, all); {
		case err != nil:
			return OnDisk{}, err
		case t != nil:
			return *t, nil
		}
		if t, err := archived(data, arg); !errors.Is(err, fs.ErrNotExist) {
			return t, err
		}
	}
	all, err := ThreadsIn(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return OnDisk{}, output.Hint(fmt.Errorf("%s: %w in %s", arg, errNoThread, data), "messkit thread list lists them; --data names another folder")
	case err != nil:
		return OnDisk{}, err
	case len(all) != 1:
		return OnDisk{}, output.Hint(fmt.Errorf("%s: there are %d threads in it", arg, len(all)), "messkit thread list %s shows them", arg)
	}
	return all[0], nil
}

// archived finds a thread in the archives of a data folder. The error is fs.ErrNotExist if
// no archive has it.
func archived(data, ref string) (OnDisk, error) {
	root, err := os.OpenRoot(data)
	if err != nil {
		return OnDisk{}, err
	}
	name, err := archive.Find(root, ref)
	if err := errors.Join(err, root.Close()); err != nil {
		return OnDisk{}, err
	}
	all, err := ThreadsIn(filepath.Join(data, filepath.FromSlash(name)))
	for _, t := range all {
		if t.Ref == ref {
			return t, nil
		}
	}
	return OnDisk{}, errors.Join(err, fs.ErrNotExist)
}

// onlyOne returns the one thread whose ref is arg or begins with it, or nil.
func onlyOne(arg string, all []OnDisk) (*OnDisk, error) {
	refs, at := make([]string, len(all)), map[string]*OnDisk{}
	for i, t := range all {
		refs[i], at[t.Ref] = t.Ref, &all[i]
	}
	switch found := client.Begun(arg, refs); len(found) {
	case 0:
		return nil, nil
	case 1:
		return at[found[0]], nil
	default:
		return nil, client.SeveralBegin(arg, found, nil)
	}
}

// WhereItIs calls read with a thread, and again if the thread moved to the folder of another
// state during the call.
func WhereItIs[T any](data, arg string, read func(OnDisk) (T, error)) (T, error) {
	for again := 10; ; again-- {
		var v T
		t, err := findThread(data, arg)
		if err != nil {
			return v, err
		}
		if v, err = read(t); !errors.Is(err, fs.ErrNotExist) || again == 0 {
			return v, err
		}
	}
}

func dataFlag(c *cobra.Command, data *string) {
	c.Flags().StringVar(data, "data", config.DataDir(), "folder of the threads")
}
