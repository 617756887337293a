package thread

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/store/files/tree"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess/messeaf"
)

func threadCheckCommand(a *output.Env) *cobra.Command {
	var data string
	var notes bool
	c := &cobra.Command{
		Use:   "check [REF|PATH...]",
		Short: "Validate threads against MESSE-AF 2.1, and print file, line and rule of each error",
		Long: `Validate threads against MESSE-AF 2.1, and print file, line and rule of each error.
With --notes also print what messkit reads and other programs may not read. The exit
code is 1 if there is an error.`,
		Example: "  messkit thread check --notes\n  messkit thread check 2026-01-15-TEST.messe-af.zip",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{data}
			}
			count, bad, strange := 0, 0, 0
			for _, arg := range args {
				all, ignored, err := toCheck(c.Context(), a, data, arg)
				if err != nil {
					return err
				}
				if err := printProblems(a, arg, ignored, nil); err != nil {
					return err
				}
				strange += len(ignored)
				for _, t := range all {
					count++
					wrong, odd := t.check()
					if len(wrong) > 0 {
						bad++
					}
					if !notes {
						odd = nil
					}
					if err := printProblems(a, t.In, wrong, odd); err != nil {
						return err
					}
				}
			}
			text := fmt.Sprintf("%d threads, %d with something wrong", count, bad)
			if strange > 0 {
				text += fmt.Sprintf("; %d beside them that are none", strange)
			}
			if _, err := fmt.Fprintln(a.Out, text); err != nil {
				return err
			}
			if bad+strange > 0 {
				return output.ErrQuiet
			}
			return nil
		},
	}
	dataFlag(c, &data)
	c.Flags().BoolVar(&notes, "notes", false, "also what other programs may not read")
	return c
}

// mostMoves limits how often a check follows a thread to another folder.
const mostMoves = 5

// check checks a thread. An exchange that runs moves a thread to another folder with its status, and
// at last into an archive, so a thread that has gone from its place is looked up and checked again.
func (t OnDisk) check() (wrong, odd messeaf.Problems) {
	for range mostMoves {
		wrong, odd = t.Check(t.Fsys)
		if len(wrong) == 0 {
			break
		}
		if _, err := fs.Stat(t.Fsys, t.Path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		next, err := findThread(t.In, t.Ref)
		if err != nil {
			break
		}
		t = next
	}
	return wrong, odd
}

// toCheck returns the threads of a path, or the one with a ref, and the ignored files among
// them.
func toCheck(ctx context.Context, a *output.Env, data, arg string) (all []OnDisk, ignored messeaf.Problems, err error) {
	all, err = ThreadsIn(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist) && messeaf.ValidRef(arg):
		t, err := whenWritten(ctx, a, data, arg, func() (OnDisk, error) { return findThread(data, arg) })
		return []OnDisk{t}, nil, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, notThere(err)
	case err != nil:
		return nil, nil, err
	}
	if info, err := os.Stat(arg); err != nil || !info.IsDir() {
		return all, nil, err
	}
	for _, f := range messeaf.Folders {
		some, err := messeaf.Ignored(tree.Dir(arg), f)
		if err != nil {
			return nil, nil, err
		}
		ignored = append(ignored, some...)
	}
	return all, ignored, nil
}

func printProblems(a *output.Env, in string, wrong, odd messeaf.Problems) error {
	for _, list := range []struct {
		word string
		all  messeaf.Problems
	}{{"", wrong}, {"note: ", odd}} {
		for _, p := range list.all {
			p.File = filepath.Join(in, filepath.FromSlash(p.File))
			if _, err := fmt.Fprintln(a.Out, list.word+output.Printable(p.Error())); err != nil {
				return err
			}
		}
	}
	return nil
}
