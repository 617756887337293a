package thread

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/store/files/archive"
	"github.com/messkit/messkit/exchange/store/files/external"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// ArchiveCommand returns the command messkit archive.
func ArchiveCommand(a *output.Env) *cobra.Command { return threadArchiveCommand(a, "archive [REF...]") }

func threadArchiveCommand(a *output.Env, use string) *cobra.Command {
	var data, older string
	c := &cobra.Command{
		Use:   use,
		Short: "Move ended threads into archive/ as zips",
		Long: `Move ended threads into archive/, each into its own zip: the named threads, or with
--older those that ended so long ago. An exchange moves old threads into
archive/ without this command, many into one zip (archive_after in its
configuration), and still shows the threads in archive/.`,
		Example: "  messkit archive --older 30d",
		RunE: func(_ *cobra.Command, args []string) error {
			if (older == "") == (len(args) == 0) {
				return errors.New("write refs, or --older and how long ago, like --older 30d")
			}
			var before time.Time
			if older != "" {
				d, err := mess.Duration(older).Duration()
				if err != nil {
					return fmt.Errorf("--older: %w", err)
				}
				before = time.Now().Add(-d)
			}
			return runArchive(a, data, args, before)
		},
	}
	dataFlag(c, &data)
	c.Flags().StringVar(&older, "older", "", "all threads that ended this long ago, like 30d")
	return c
}

// runArchive archives the threads with these refs, or all that ended before a time.
func runArchive(a *output.Env, data string, refs []string, before time.Time) error {
	root, err := os.OpenRoot(data)
	if err != nil {
		return notThere(err)
	}
	defer root.Close()
	all, err := ThreadsIn(data)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, ref := range refs {
		wanted[ref] = true
	}
	count := 0
	for _, t := range all {
		if len(refs) > 0 && !wanted[t.Ref] {
			continue
		}
		delete(wanted, t.Ref)
		e, err := t.ReadEnvelope(t.Fsys)
		changed, known := messeaf.Time(e.Updated)
		ended := err == nil && e.Status.Terminal()
		switch {
		case len(refs) > 0 && !ended:
			return output.Hint(fmt.Errorf("%s: has not ended (%s)", t.Ref, e.Status), "messkit cancel %s ends it", t.Ref)
		case !ended || len(refs) == 0 && (!known || !changed.Before(before)):
			continue
		}
		if err := archive.Move(root, t.Place); err != nil {
			return err
		}
		count++
	}
	for ref := range wanted {
		return fmt.Errorf("%s: %w in %s", ref, errNoThread, data)
	}
	_, err = fmt.Fprintf(a.Out, "%d threads archived in %s\n", count, filepath.Join(data, "archive"))
	return err
}

func threadExportCommand(a *output.Env) *cobra.Command {
	var data, to string
	c := &cobra.Command{
		Use:     "export REF|PATH",
		Short:   "Write a thread with its images into an archive",
		Example: "  messkit thread export 2026-11-21-003 --to fridge.zip",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			t, err := whenWritten(c.Context(), a, data, args[0], func() (OnDisk, error) { return findThread(data, args[0]) })
			if err != nil {
				return err
			}
			if to == "" {
				to = t.Ref + messeaf.ZipExt
			}
			f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if errors.Is(err, fs.ErrExist) {
				return output.Hint(err, "remove it, or choose another name with --to")
			}
			if err != nil {
				return err
			}
			_, err = WhereItIs(data, args[0], func(t OnDisk) (int64, error) {
				n, err := f.Seek(0, io.SeekStart)
				return n, errors.Join(err, f.Truncate(0), messeaf.Archive(f, t.Fsys, t.Place))
			})
			if err := errors.Join(err, f.Close()); err != nil {
				return errors.Join(err, os.Remove(to))
			}
			_, err = fmt.Fprintln(a.Out, "wrote", to)
			return err
		},
	}
	dataFlag(c, &data)
	c.Flags().StringVar(&to, "to", "", "the archive's name (otherwise REF"+messeaf.ZipExt+")")
	return c
}

func threadImportCommand(a *output.Env) *cobra.Command {
	var data string
	c := &cobra.Command{
		Use:   "import PATH...",
		Short: "Import threads from archives, folders or v1 files",
		Long: `Copy threads from archives, folders or v1 files into the data folder. An exchange
that runs there takes them over at once, and offers pending ones to executors.`,
		Example: "  messkit thread import 2026-01-15-TEST.messe-af.zip",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(data, 0o700); err != nil {
				return err
			}
			root, err := os.OpenRoot(data)
			if err != nil {
				return err
			}
			defer root.Close()
			for _, arg := range args {
				if err := importAll(a.Out, root, arg); err != nil {
					return err
				}
			}
			return nil
		},
	}
	dataFlag(c, &data)
	return c
}

func importAll(out io.Writer, root *os.Root, arg string) error {
	all, err := ThreadsIn(arg)
	if err != nil {
		return notThere(err)
	}
	if len(all) == 0 {
		return fmt.Errorf("%s: there is no thread in it", arg)
	}
	for _, t := range all {
		at, err := external.Import(root, t.Fsys, t.Place)
		if errors.Is(err, fs.ErrExist) {
			return output.Hint(fmt.Errorf("%s: %w", t.name(), err), "a thread of that name exists; nothing has changed")
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "imported %s into %s\n", t.Ref, at); err != nil {
			return err
		}
	}
	return nil
}
