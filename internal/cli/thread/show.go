package thread

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess/messeaf"
)

func threadListCommand(a *output.Env) *cobra.Command {
	var data, status string
	var asJSON bool
	c := &cobra.Command{
		Use:     "list [PATH]",
		Short:   "List threads",
		Example: "  messkit thread list --status completed\n  messkit thread list backup.zip",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			in := append(args, data)[0]
			all, err := ThreadsIn(in)
			if err != nil {
				return notThere(err)
			}
			read, errs := EnvelopesOf(in, all)
			for _, err := range errs {
				fmt.Fprintf(a.Err, "messkit: error: %v\n", err)
			}
			list := slices.DeleteFunc(read, func(e messeaf.Envelope) bool { return status != "" && string(e.Status) != status })
			if err := printEnvelopes(a, list, asJSON); err != nil {
				return err
			}
			if len(errs) > 0 {
				return output.ErrQuiet
			}
			return nil
		},
	}
	dataFlag(c, &data)
	c.Flags().StringVar(&status, "status", "", "only those with this status")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// EnvelopesOf reads threads of a folder. If a thread moves to the folder of another state during
// the call, it reads the thread there, once.
func EnvelopesOf(in string, all []OnDisk) (list []messeaf.Envelope, errs []error) {
	moved := map[string]bool{}
	for _, t := range all {
		if moved[t.Ref] {
			continue
		}
		e, err := t.ReadEnvelope(t.Fsys)
		if errors.Is(err, fs.ErrNotExist) {
			moved[t.Ref] = true
			e, err = WhereItIs(in, t.Ref, func(t OnDisk) (messeaf.Envelope, error) { return t.ReadEnvelope(t.Fsys) })
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, e)
	}
	return list, errs
}

func printEnvelopes(a *output.Env, list []messeaf.Envelope, asJSON bool) error {
	if asJSON {
		all := make([]map[string]any, len(list))
		for i, e := range list {
			all[i] = map[string]any{
				"ref": e.Ref, "status": e.Status, "intent": e.Intent, "requestor": e.Requester, "executor": e.Executor, "created": e.Created, "updated": e.Updated,
			}
		}
		return a.JSON(all)
	}
	return a.PrintColumns(func(p *output.Printer) {
		p.Printf("REF\tSTATUS\tEXECUTOR\tCHANGED\tINTENT\n")
		for _, e := range list {
			changed := string(e.Updated)
			if at, ok := messeaf.Time(e.Updated); ok {
				changed = at.Local().Format(time.DateTime)
			}
			p.Printf("%s\t%s\t%s\t%s\t%s\n", output.Printable(e.Ref), output.Printable(string(e.Status)), output.Printable(e.Executor), output.Printable(changed), output.Printable(e.Intent))
		}
	})
}

func threadShowCommand(a *output.Env) *cobra.Command {
	var data, saveDir string
	var asYAML bool
	c := &cobra.Command{
		Use:     "show REF|PATH",
		Short:   "Show a thread, and save its images",
		Example: "  messkit thread show 2026-11-21-003 --save .\n  messkit thread show 2026-01-15-TEST.messe-af.zip",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			t, err := whenWritten(c.Context(), a, data, args[0], func() (messeaf.Thread, error) {
				return WhereItIs(data, args[0], func(found OnDisk) (messeaf.Thread, error) { return found.Read(found.Fsys) })
			})
			if err != nil {
				return err
			}
			if err := showThread(a, t, asYAML); err != nil || saveDir == "" {
				return err
			}
			return saveFiles(a, data, args[0], t, saveDir)
		},
	}
	dataFlag(c, &data)
	c.Flags().StringVar(&saveDir, "save", "", "save images and files to this folder")
	c.Flags().BoolVar(&asYAML, "yaml", false, "print it as it would be in one file")
	return c
}

func showThread(a *output.Env, t messeaf.Thread, asYAML bool) error {
	if asYAML {
		return a.YAML(messeaf.Print(t))
	}
	p := output.Printer{Out: a.Out, All: true}
	p.Printf("%s  %s  %s\n", output.Printable(t.Envelope.Ref), output.Printable(string(t.Envelope.Status)), output.Printable(t.Envelope.Intent))
	for _, m := range t.Messages {
		p.Message(m)
	}
	for _, f := range t.Attachments() {
		p.Printf("file: %s", f.Name)
		if f.Size >= 0 {
			p.Printf(" (%d KB)", (f.Size+1023)>>10)
		}
		p.Printf("\n")
	}
	return p.Err
}

// saveFiles writes the attachments of a thread, inline ones too, to a folder.
func saveFiles(a *output.Env, threads, arg string, t messeaf.Thread, dir string) error {
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
			data, err = WhereItIs(threads, cmp.Or(f.Thread, arg), func(in OnDisk) ([]byte, error) { // content:// may refer to another thread
				return fs.ReadFile(in.Fsys, path.Join(in.Dir(), f.Name))
			})
			if err != nil {
				return err
			}
		}
		name := messeaf.SafeName(t.Envelope.Ref + "-" + strings.TrimPrefix(f.Name, "att-"))
		if err := root.WriteFile(name, data, 0o600); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(a.Out, "saved %s (%d KB)\n", filepath.Join(dir, name), (len(data)+1023)>>10); err != nil {
			return err
		}
	}
	return nil
}
