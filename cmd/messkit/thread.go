package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/files"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

func (a *app) threadCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "thread COMMAND",
		Short: "Read, check, archive and move threads as they lie on the disk",
		Long: `Read, check, archive and move threads as they lie on the disk, without an
exchange. A thread is named by its ref in the data folder, or by a path: of its
folder, of a v1 file, or of an archive.`,
		Example: `  messkit thread show 2026-11-21-003
  messkit thread check ~/backup/mess`,
		Args: cobra.NoArgs,
	}
	c.AddCommand(a.threadListCommand(), a.threadShowCommand(), a.threadCheckCommand(), a.threadArchiveCommand("archive [REF...]"), a.threadExportCommand(), a.threadImportCommand(), a.threadVerifyCommand(), a.threadKeyCommand())
	return c
}

// onDisk is a thread that was found on the disk.
type onDisk struct {
	messeaf.Place
	fsys fs.FS
	in   string // path of the folder or archive
}

// name is where the thread is, for people.
func (t onDisk) name() string { return filepath.Join(t.in, t.Path) }

// threadsIn lists the threads of a folder, of an archive, or of one file.
func threadsIn(name string) ([]onDisk, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	var fsys fs.FS
	switch {
	case info.IsDir():
		fsys = files.Dir(name)
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
		return []onDisk{t}, err
	}
	places, err := messeaf.List(fsys)
	if err != nil {
		return nil, err
	}
	all := make([]onDisk, len(places))
	for i, p := range places {
		all[i] = onDisk{p, fsys, name}
	}
	return all, nil
}

// oneFile is the thread in a v1 file. A link is followed to a file of the same
// name, as the flat alternative of MESSE-AF has it, and to no other.
func oneFile(name string) (onDisk, error) {
	to, err := filepath.EvalSymlinks(name)
	if err != nil {
		return onDisk{}, err
	}
	base := filepath.Base(name)
	if filepath.Base(to) != base {
		return onDisk{}, fmt.Errorf("%s: is a symbolic link to %s, which is called otherwise; write the path of that", name, to)
	}
	ref := strings.TrimSuffix(strings.TrimSuffix(base, messeaf.Ext), messeaf.ShortExt)
	return onDisk{messeaf.Place{Ref: ref, Path: base, Flat: true}, files.Dir(filepath.Dir(to)), filepath.Dir(to)}, nil
}

// notThere says what helps where a folder or file of threads is not there.
func notThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return hint(err, "write where the threads are: a folder, an archive, or --data and a ref")
	}
	return err
}

// findThread finds one thread by its ref in the data folder or its archive, or
// by a path.
func findThread(data, arg string) (onDisk, error) {
	if messeaf.ValidRef(arg) {
		all, err := threadsIn(data)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return onDisk{}, err
		}
		for _, t := range all {
			if t.Ref == arg {
				return t, nil
			}
		}
		if all, err := threadsIn(filepath.Join(data, filepath.FromSlash(files.ArchiveName(arg)))); err == nil && len(all) == 1 {
			return all[0], nil
		}
	}
	all, err := threadsIn(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return onDisk{}, hint(fmt.Errorf("%s: there is no such thread in %s", arg, data), "messkit thread list shows what is there; --data names another folder")
	case err != nil:
		return onDisk{}, err
	case len(all) != 1:
		return onDisk{}, hint(fmt.Errorf("%s: there are %d threads in it", arg, len(all)), "messkit thread list %s shows them", arg)
	}
	return all[0], nil
}

func (a *app) threadListCommand() *cobra.Command {
	var data, status string
	var asJSON bool
	c := &cobra.Command{
		Use:     "list [PATH]",
		Short:   "List threads",
		Example: "  messkit thread list --status completed\n  messkit thread list backup.zip",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := threadsIn(append(args, data)[0])
			if err != nil {
				return notThere(err)
			}
			var list []messeaf.Envelope
			failed := false
			for _, t := range all {
				e, err := t.ReadEnvelope(t.fsys)
				if err != nil {
					fmt.Fprintf(a.err, "messkit: error: %v\n", err)
					failed = true
					continue
				}
				if status == "" || string(e.Status) == status {
					list = append(list, e)
				}
			}
			if err := a.envelopes(list, asJSON); err != nil {
				return err
			}
			if failed {
				return errQuiet
			}
			return nil
		},
	}
	dataFlag(c, &data)
	c.Flags().StringVar(&status, "status", "", "only those with this status")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func dataFlag(c *cobra.Command, data *string) {
	c.Flags().StringVar(data, "data", dataDir(), "folder of the threads")
}

func (a *app) envelopes(list []messeaf.Envelope, asJSON bool) error {
	if asJSON {
		all := make([]map[string]any, len(list))
		for i, e := range list {
			all[i] = map[string]any{
				"ref": e.Ref, "status": e.Status, "intent": e.Intent, "requestor": e.Requestor, "executor": e.Executor, "created": e.Created, "updated": e.Updated,
			}
		}
		return a.json(all)
	}
	w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "REF\tSTATUS\tEXECUTOR\tCHANGED\tINTENT")
	for _, e := range list {
		changed := string(e.Updated)
		if at, ok := messeaf.Time(e.Updated); ok {
			changed = at.Local().Format(time.DateTime)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", printable(e.Ref), printable(string(e.Status)), printable(e.Executor), printable(changed), printable(e.Intent))
	}
	return w.Flush()
}

func (a *app) threadShowCommand() *cobra.Command {
	var data, saveDir string
	var asYAML bool
	c := &cobra.Command{
		Use:     "show REF|PATH",
		Short:   "Show a thread, and save its pictures",
		Example: "  messkit thread show 2026-11-21-003 --save .\n  messkit thread show 2026-01-15-TEST.messe-af.zip",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			found, err := findThread(data, args[0])
			if err != nil {
				return err
			}
			t, err := found.Read(found.fsys)
			if err != nil {
				return err
			}
			if err := a.showThread(t, asYAML); err != nil || saveDir == "" {
				return err
			}
			return a.saveFiles(data, found, t, saveDir)
		},
	}
	dataFlag(c, &data)
	c.Flags().StringVar(&saveDir, "save", "", "save pictures and files to this folder")
	c.Flags().BoolVar(&asYAML, "yaml", false, "print it as it would be in one file")
	return c
}

func (a *app) showThread(t messeaf.Thread, asYAML bool) error {
	if asYAML {
		text, err := messeaf.Print(t)
		if err == nil {
			_, err = a.out.Write(text)
		}
		return err
	}
	p := printer{out: a.out, all: true}
	p.printf("%s  %s  %s\n", printable(t.Envelope.Ref), printable(string(t.Envelope.Status)), printable(t.Envelope.Intent))
	for _, m := range t.Messages {
		p.message(m)
	}
	for _, f := range t.Attachments() {
		p.printf("file: %s", f.Name)
		if f.Size >= 0 {
			p.printf(" (%d KB)", (f.Size+1023)>>10)
		}
		p.printf("\n")
	}
	return p.err
}

// saveFiles writes what is beside a thread, and inside it, into a folder.
func (a *app) saveFiles(threads string, found onDisk, t messeaf.Thread, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range t.Attachments() {
		data := f.Data
		if data == nil {
			in := found
			if f.Thread != "" { // content:// of another thread
				if in, err = findThread(threads, f.Thread); err != nil {
					return err
				}
			}
			if data, err = fs.ReadFile(in.fsys, path.Join(in.Dir(), f.Name)); err != nil {
				return err
			}
		}
		name := messeaf.SafeName(t.Envelope.Ref + "-" + strings.TrimPrefix(f.Name, "att-"))
		if err := root.WriteFile(name, data, 0o600); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(a.out, "saved %s (%d KB)\n", filepath.Join(dir, name), (len(data)+1023)>>10); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) threadCheckCommand() *cobra.Command {
	var data string
	var notes bool
	c := &cobra.Command{
		Use:   "check [REF|PATH...]",
		Short: "Hold threads to MESSE-AF 2.1, and tell file, line and rule",
		Long: `Hold threads to MESSE-AF 2.1, and tell file, line and rule of what is wrong.
With --notes also what messkit reads and other programs may not. The exit code
is 1 if anything is wrong.`,
		Example: "  messkit thread check --notes\n  messkit thread check 2026-01-15-TEST.messe-af.zip",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{data}
			}
			count, bad, strange := 0, 0, 0
			for _, arg := range args {
				all, ignored, err := toCheck(data, arg)
				if err != nil {
					return err
				}
				if err := a.problems(arg, ignored, nil); err != nil {
					return err
				}
				strange += len(ignored)
				for _, t := range all {
					count++
					wrong, odd := t.Check(t.fsys)
					if len(wrong) > 0 {
						bad++
					}
					if !notes {
						odd = nil
					}
					if err := a.problems(t.in, wrong, odd); err != nil {
						return err
					}
				}
			}
			text := fmt.Sprintf("%d threads, %d with something wrong", count, bad)
			if strange > 0 {
				text += fmt.Sprintf("; %d beside them that are none", strange)
			}
			if _, err := fmt.Fprintln(a.out, text); err != nil {
				return err
			}
			if bad+strange > 0 {
				return errQuiet
			}
			return nil
		},
	}
	dataFlag(c, &data)
	c.Flags().BoolVar(&notes, "notes", false, "also what other programs may not read")
	return c
}

// toCheck finds the threads of a path, or the one with a ref, and what lies
// among them and is not taken for one.
func toCheck(data, arg string) (all []onDisk, ignored messeaf.Problems, err error) {
	all, err = threadsIn(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist) && messeaf.ValidRef(arg):
		t, err := findThread(data, arg)
		return []onDisk{t}, nil, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, notThere(err)
	case err != nil:
		return nil, nil, err
	}
	if info, err := os.Stat(arg); err != nil || !info.IsDir() {
		return all, nil, err
	}
	for _, f := range messeaf.Folders {
		some, err := messeaf.Ignored(files.Dir(arg), f)
		if err != nil {
			return nil, nil, err
		}
		ignored = append(ignored, some...)
	}
	return all, ignored, nil
}

func (a *app) problems(in string, wrong, odd messeaf.Problems) error {
	for _, list := range []struct {
		word string
		all  messeaf.Problems
	}{{"", wrong}, {"note: ", odd}} {
		for _, p := range list.all {
			p.File = filepath.Join(in, filepath.FromSlash(p.File))
			if _, err := fmt.Fprintln(a.out, list.word+printable(p.Error())); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *app) archiveCommand() *cobra.Command { return a.threadArchiveCommand("archive [REF...]") }

func (a *app) threadArchiveCommand(use string) *cobra.Command {
	var data, older string
	c := &cobra.Command{
		Use:   use,
		Short: "Put threads that have ended into archive/ as zips",
		Long: `Put threads that have ended into archive/ as zips: those named, or with --older
those that ended so long ago. An exchange that runs there does the same by itself
(archive_after in its configuration), and still shows what is archived.`,
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
			return a.archive(data, args, before)
		},
	}
	dataFlag(c, &data)
	c.Flags().StringVar(&older, "older", "", "all that ended so long ago, like 30d")
	return c
}

// archive archives the threads with these refs, or all that ended before.
func (a *app) archive(data string, refs []string, before time.Time) error {
	root, err := os.OpenRoot(data)
	if err != nil {
		return notThere(err)
	}
	defer root.Close()
	all, err := threadsIn(data)
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
		e, err := t.ReadEnvelope(t.fsys)
		changed, known := messeaf.Time(e.Updated)
		ended := err == nil && e.Status.Terminal()
		switch {
		case len(refs) > 0 && !ended:
			return hint(fmt.Errorf("%s: has not ended (%s)", t.Ref, e.Status), "messkit cancel %s ends it", t.Ref)
		case !ended || len(refs) == 0 && (!known || !changed.Before(before)):
			continue
		}
		if err := files.Archive(root, t.Place); err != nil {
			return err
		}
		count++
	}
	for ref := range wanted {
		return fmt.Errorf("%s: there is no such thread in %s", ref, data)
	}
	_, err = fmt.Fprintf(a.out, "%d threads archived in %s\n", count, filepath.Join(data, "archive"))
	return err
}

func (a *app) threadExportCommand() *cobra.Command {
	var data, to string
	c := &cobra.Command{
		Use:     "export REF|PATH",
		Short:   "Write a thread with its pictures into an archive of its own",
		Example: "  messkit thread export 2026-11-21-003 --to fridge.zip",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := findThread(data, args[0])
			if err != nil {
				return err
			}
			if to == "" {
				to = t.Ref + messeaf.ZipExt
			}
			f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if errors.Is(err, fs.ErrExist) {
				return hint(err, "remove it, or choose another name with --to")
			}
			if err != nil {
				return err
			}
			if err := errors.Join(messeaf.Archive(f, t.fsys, t.Place), f.Close()); err != nil {
				return errors.Join(err, os.Remove(to))
			}
			_, err = fmt.Fprintln(a.out, "wrote", to)
			return err
		},
	}
	dataFlag(c, &data)
	c.Flags().StringVar(&to, "to", "", "the archive's name (otherwise REF"+messeaf.ZipExt+")")
	return c
}

func (a *app) threadImportCommand() *cobra.Command {
	var data string
	c := &cobra.Command{
		Use:   "import PATH...",
		Short: "Put threads from archives, folders or v1 files into the data folder",
		Long: `Put threads from archives, folders or v1 files into the data folder. An exchange
that runs there takes them in at once: what is pending is offered to executors.`,
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
				if err := importAll(a.out, root, arg); err != nil {
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
	all, err := threadsIn(arg)
	if err != nil {
		return notThere(err)
	}
	if len(all) == 0 {
		return fmt.Errorf("%s: there is no thread in it", arg)
	}
	for _, t := range all {
		at, err := files.Import(root, t.fsys, t.Place)
		if errors.Is(err, fs.ErrExist) {
			return hint(fmt.Errorf("%s: %w", t.name(), err), "there is a thread of that name; nothing was changed")
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
