package doctor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/internal/natslink"
)

// CheckCommand returns the command messkit check.
func CheckCommand(a *output.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Check a configuration file",
		Long: `Check does the same as run before the first request: it reads the file, opens each
device without starting it, and prints all errors with their lines. It also lists
the passwords, tokens and keys that every user of this machine can read, and the
heaters, pumps and similar devices that nothing would switch off automatically.`,
		Example: "  messkit check messkit.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "" {
				return errors.New("the argument is empty; write the name of the file to check")
			}
			return runCheck(a, args[0])
		},
	}
}

// runCheck returns all problems of a configuration as one error. It prints the notes in any
// case.
func runCheck(a *output.Env, file string) error {
	c, wrong := daemon.LoadConfig(file, output.NoLog)
	says := "nothing wrong"
	note := func(text string) {
		says = "nothing else wrong"
		fmt.Fprintln(a.Out, output.Printable(text))
	}
	if c != nil {
		wrong = config.MergeProblems(wrong, c.CheckSeparateFolders())
	}
	if wrong = config.MergeProblems(wrong, c.Folders(note)); wrong == nil {
		printIgnoredSentences(c, file, a.Out)
	}
	if c != nil {
		for _, one := range c.Opened.LeftOut {
			note(one.String())
		}
		notes := slices.Concat(c.Opened.Notes, c.Opened.Senses(c.Devices))
		_ = notes.Err() // in the order of their lines
		for _, one := range notes {
			fmt.Fprintln(a.Out, output.Printable(one.Error()))
		}
	}
	for _, one := range config.Exposed(file) {
		note(one)
	}
	if wrong != nil {
		return wrong
	}
	if k := c.Connect; k != nil && k.Enroll == "" && k.Server != remote.Reference && !broker.Is(k.URL) && !natslink.Is(k.URL) {
		if _, err := os.Stat(k.KeyFile); errors.Is(err, fs.ErrNotExist) {
			note(c.Document.Problem("connect.key_file", "%s is not there yet; write enrol: with the code that messkit keys enrol %s shows at the exchange", k.KeyFile, c.Agent.ID).Error())
		}
	}
	_, err := fmt.Fprintf(a.Out, "%s: %s, %s\n", file, output.Count(len(c.Opened.Devices), "device"), says)
	return err
}

// printIgnoredSentences prints the sentences of Home Assistant that do not work here, by reason.
func printIgnoredSentences(c *config.Config, file string, out io.Writer) {
	left := map[string][]string{}
	for _, one := range c.Opened.Catalog.Skipped() {
		left[one.Reason] = append(left[one.Reason], one.Sentence)
	}
	for _, reason := range output.SortedKeys(left) {
		fmt.Fprintf(out, "%s: %s of Home Assistant left out: %s; like %s\n", file, output.Count(len(left[reason]), "sentence"), output.Printable(reason), output.Printable(left[reason][0]))
	}
}
