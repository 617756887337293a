package main

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
			return a.check(args[0])
		},
	}
}

// check tells all that is wrong with a configuration as an error. What is no mistake, and
// should be known, it prints, whatever else is wrong.
func (a *app) check(file string) error {
	c, wrong := load(file, quiet)
	says := "nothing wrong"
	note := func(text string) {
		says = "nothing else wrong"
		fmt.Fprintln(a.out, printable(text))
	}
	if c != nil {
		wrong = merge(wrong, c.apart())
	}
	if wrong = merge(wrong, c.folders(note)); wrong == nil {
		c.toldOfWords(file, a.out)
	}
	if c != nil {
		for _, one := range c.home.leftOut {
			note(one.String())
		}
		notes := slices.Concat(c.home.notes, c.home.senses(c.Devices))
		_ = notes.Err() // in the order of their lines
		for _, one := range notes {
			fmt.Fprintln(a.out, printable(one.Error()))
		}
	}
	for _, one := range exposed(file) {
		note(one)
	}
	if wrong != nil {
		return wrong
	}
	if k := c.Connect; k != nil && k.Enrol == "" && k.Server != remote.InField && !broker.Is(k.URL) {
		if _, err := os.Stat(k.KeyFile); errors.Is(err, fs.ErrNotExist) {
			note(c.at.Problem("connect.key_file", "%s is not there yet; write enrol: with the code that messkit keys enrol %s shows at the exchange", k.KeyFile, c.Agent.ID).Error())
		}
	}
	_, err := fmt.Fprintf(a.out, "%s: %s, %s\n", file, count(len(c.home.devices), "device"), says)
	return err
}

// toldOfWords tells which sentences of Home Assistant do not work here, by what is in the
// way.
func (c *config) toldOfWords(file string, out io.Writer) {
	left := map[string][]string{}
	for _, one := range c.home.catalogue.Skipped() {
		left[one.Why] = append(left[one.Why], one.Sentence)
	}
	for _, why := range sorted(left) {
		fmt.Fprintf(out, "%s: %s of Home Assistant left out: %s; like %s\n", file, count(len(left[why]), "sentence"), printable(why), printable(left[why][0]))
	}
}

// count is a number of things: 1 device, 2 devices.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
