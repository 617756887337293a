// Package journal has the commands that show and verify the journal of an executor.
package journal

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
)

// Command returns the command messkit journal.
func Command(a *output.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "journal COMMAND",
		Short: "Read and check the executor's journal on the disk",
		Long: `Read and check the executor's journal on the disk: its planned acts, its completed
acts, and its pending reports. The command changes nothing, and messkit run may run
at the same time. docs/reference/journal.md describes the files.`,
		Example: "  messkit journal show\n  messkit journal check --data ~/backup/mess",
		Args:    cobra.NoArgs,
	}
	c.AddCommand(journalShowCommand(a), journalCheckCommand(a))
	return c
}

// OnJournal has the flags of the commands that read a journal.
type OnJournal struct {
	Data   string
	asJSON bool
}

func (o *OnJournal) flags(c *cobra.Command) {
	c.Flags().StringVar(&o.Data, "data", config.DataDir(), "data folder, or the folder of the journal itself")
	c.Flags().BoolVar(&o.asJSON, "json", false, "print JSON")
}

// Read reads the journal.
func (o *OnJournal) Read() (string, journal.Contents, error) {
	dir := config.JournalDir(o.Data)
	if _, err := os.Stat(dir); err != nil {
		if found, err := filepath.Glob(filepath.Join(o.Data, "*.wal")); err != nil || len(found) == 0 {
			return dir, journal.Contents{}, output.Hint(&fs.PathError{Op: "journal", Path: dir, Err: fs.ErrNotExist},
				"messkit run makes one; --data names the data folder of an executor")
		}
		dir = o.Data
	}
	r, err := journal.Read(dir)
	return dir, r, err
}

func journalShowCommand(a *output.Env) *cobra.Command {
	var o OnJournal
	c := &cobra.Command{
		Use:   "show [REF]",
		Short: "List the threads in the journal, or show one of them",
		Long: `List the threads in the journal by state: asked (the executor waits for an answer),
intent (it was about to act, and has not recorded the result), done (its report is
pending), reported (such threads leave the journal later).`,
		Example: "  messkit journal show\n  messkit journal show 2026-11-21-003 --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, r, err := o.Read()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				err = showEntry(a, &o, dir, r, args[0])
			} else {
				err = showEntries(a, &o, r)
			}
			if err != nil || len(r.Violations) == 0 {
				return err
			}
			return output.Hint(r.Violations[0], "this is the first problem; messkit journal check prints all")
		},
	}
	o.flags(c)
	return c
}

func showEntries(a *output.Env, o *OnJournal, r journal.Contents) error {
	if o.asJSON {
		list := []entryJSON{}
		for _, e := range r.Threads() {
			list = append(list, entryOf(e))
		}
		return a.JSON(list)
	}
	return a.PrintColumns(func(p *output.Printer) {
		p.Printf("REF\tEPOCH\tSTATE\tDIGEST\tBOOT\tTIME\tBYTES\n")
		for _, e := range r.Threads() {
			p.Printf("%s\t%d\t%s\t%s\t%s\t%s\t%d\n", output.Printable(e.Ref), e.Epoch, e.State, cmp.Or(output.ShortDigest(e.Digest), "-"), cmp.Or(output.Printable(e.Boot), "-"), localTime(e.At), e.Bytes)
		}
	})
}

// localTime returns a time in the local zone.
func localTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

// showEntry shows all records about one thread.
func showEntry(a *output.Env, o *OnJournal, dir string, r journal.Contents, ref string) error {
	var refs []string
	for _, e := range r.Threads() {
		if !slices.Contains(refs, e.Ref) {
			refs = append(refs, e.Ref)
		}
	}
	switch found := client.Begun(ref, refs); {
	case len(found) == 1:
		ref = found[0]
	case len(found) > 1:
		return client.SeveralBegin(ref, found, nil)
	}
	list := slices.DeleteFunc(r.Threads(), func(e *journal.ThreadInfo) bool { return e.Ref != ref })
	if len(list) == 0 {
		return output.Hint(fmt.Errorf("%s: the journal in %s does not name it", ref, dir), "messkit journal show lists its threads; a reported thread leaves the journal some time later")
	}
	if o.asJSON {
		all := make([]entryJSON, len(list))
		for i, e := range list {
			all[i] = entryOf(e)
			all[i].Records = linesOf(e.Records)
		}
		return a.JSON(all)
	}
	p := output.Printer{Out: a.Out, All: true}
	for _, e := range list {
		p.Printf("%s  epoch %d  %s\n", output.Printable(e.Ref), e.Epoch, e.State)
		p.Printf("  digest %s, boot %s, begun %s, found open %s\n", cmp.Or(output.Printable(e.Digest), "-"), cmp.Or(output.Printable(e.Boot), "-"), output.Count(e.Begun, "time"), output.Count(e.Found, "time"))
		for _, l := range e.Records {
			p.Printf("  %s  %-6s  %s byte %d, %d bytes\n", localTime(l.At), l.Kind, filepath.Base(l.File), l.Offset, l.Bytes)
			if l.Plan != nil {
				p.Printf("    %s\n", output.Printable(string(l.Plan)))
			}
			if l.Report != nil {
				p.Message(*l.Report)
			}
		}
	}
	return p.Err
}

func journalCheckCommand(a *output.Env) *cobra.Command {
	var o OnJournal
	c := &cobra.Command{
		Use:   "check",
		Short: "Verify the journal, and print file, byte and rule of each error",
		Long: `Verify the journal against the rules in docs/reference/journal.md, and print file, byte and rule of
each error. The exit code is 1 if there is one. A torn end is no error: the power
failed, or another process is writing, and no task relies on it yet.`,
		Example: "  messkit journal check\n  messkit journal check --data ~/backup/mess --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			dir, r, err := o.Read()
			if err != nil {
				return err
			}
			if err := printChecked(a, &o, dir, r); err != nil {
				return err
			}
			if len(r.Violations) > 0 {
				return output.ErrQuiet
			}
			return nil
		},
	}
	o.flags(c)
	return c
}

func printChecked(a *output.Env, o *OnJournal, dir string, r journal.Contents) error {
	if o.asJSON {
		return a.JSON(checkOf(dir, r))
	}
	p := output.Printer{Out: a.Out}
	for _, m := range r.Violations {
		p.Printf("%s\n", output.Printable(m.Error()))
	}
	if r.Tail.Torn {
		p.Printf("%s: byte %d: the last record is incomplete; messkit had not acknowledged it\n", r.Tail.File, r.Tail.Offset)
	}
	p.Printf("%d records of %d threads, %d mistakes\n", len(r.Records), len(r.Threads()), len(r.Violations))
	return p.Err
}
