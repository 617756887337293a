package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/internal/strictyaml"
)

func (a *app) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Check a configuration file",
		Long: `Check does what run does before the first request: it reads the file, opens every
device without starting it, and tells all mistakes at once with their lines. It
also tells which passwords, tokens and keys everybody on this machine can read,
and which heaters, pumps and the like nothing would switch off by itself.`,
		Example: "  messkit check messkit.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "" {
				return errors.New("the file has no name; write which one is to be checked")
			}
			c, err := load(args[0], quiet)
			if err != nil {
				return merge(err, c.folders(nil))
			}
			says := "nothing wrong"
			note := func(text string) {
				says = "nothing else wrong"
				fmt.Fprintln(a.out, printable(text))
			}
			if err := c.folders(note); err != nil {
				return err
			}
			left := map[string][]string{}
			for _, one := range c.home.catalogue.Skipped() {
				left[one.Why] = append(left[one.Why], one.Sentence)
			}
			for _, why := range sorted(left) {
				fmt.Fprintf(a.out, "%s: %s of Home Assistant left out: %s; like %s\n", args[0], count(len(left[why]), "sentence"), printable(why), printable(left[why][0]))
			}
			for _, one := range c.home.notes {
				fmt.Fprintln(a.out, printable(one.Error()))
			}
			for _, one := range exposed(args[0]) {
				note(one)
			}
			if k := c.Connect; k != nil && k.Enrol == "" && k.Server != remote.InField && !broker.Is(k.URL) {
				if _, err := os.Stat(k.KeyFile); errors.Is(err, fs.ErrNotExist) {
					note(c.at.Problem("connect.key_file", "%s is not there yet; write enrol: with the code that messkit keys enrol %s shows at the exchange", k.KeyFile, c.Agent.ID).Error())
				}
			}
			_, err = fmt.Fprintf(a.out, "%s: %s, %s\n", args[0], count(len(c.home.devices), "device"), says)
			return err
		},
	}
}

// folders tells folders for data that nobody could write; note is told of those that
// somebody else may: it need not be they who run messkit that check its configuration.
func (c *config) folders(note func(string)) error {
	if c == nil {
		return nil // the file could not be read
	}
	dirs := map[string]string{"agent": c.Agent.Data}
	if c.Exchange != nil {
		dirs["exchange"] = c.Exchange.Data
	}
	var wrong strictyaml.Problems
	told := map[string]bool{"": true} // an empty one has been told
	for _, part := range sorted(dirs) {
		key, dir := part+".data", dirs[part]
		if told[dir] && c.at.Under(part).Under("data").IsZero() {
			continue
		}
		told[dir] = true
		err := writable(dir)
		if p := c.at.Problem(key, "%v", err); errors.Is(err, fs.ErrPermission) && note != nil {
			note(p.Error() + "; who runs messkit must be able to")
		} else if err != nil {
			wrong = append(wrong, p)
		}
	}
	return wrong.Err()
}

// writable is why nothing can be written in a folder, or made where it is to be. What
// it writes it takes away again.
func writable(dir string) error {
	at := dir
	for {
		info, e := os.Stat(at)
		if e == nil && !info.IsDir() {
			return fmt.Errorf("%s is not a folder; write another one, or move it away", at)
		}
		if up := filepath.Dir(at); e != nil && !errors.Is(e, fs.ErrPermission) && up != at {
			at = up
			continue
		}
		break
	}
	made, err := os.MkdirTemp(at, ".check-*")
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w; write a folder on a disk of this machine", dir, err)
	}
	return os.Remove(made)
}

// count is a number of things: 1 device, 2 devices.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
