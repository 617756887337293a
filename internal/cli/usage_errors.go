package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// plainArgs makes every command name the argument that is missing or superfluous.
func plainArgs(parent *cobra.Command) {
	for _, c := range parent.Commands() {
		plainArgs(c)
		check := c.Args
		if check == nil {
			continue
		}
		c.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if err == nil {
				return nil
			}
			return argumentCountError(c, args, err)
		}
	}
}

// noSuch returns an error for an unknown command of a group. Without it cobra prints the help
// and succeeds.
func noSuch(root *cobra.Command, args []string) (*cobra.Command, error) {
	c, args, err := root.Find(args)
	if err != nil || c == root || c.Runnable() || len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return c, nil // Execute reports the error
	}
	var there []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			there = append(there, sub.Name())
		}
	}
	return c, fmt.Errorf("unknown command %q for %q; write one of: %s", args[0], c.CommandPath(), strings.Join(there, ", "))
}

// argumentCountError names the missing or superfluous argument, from the usage line.
func argumentCountError(c *cobra.Command, args []string, err error) error {
	_, line, _ := strings.Cut(c.Use, " ")
	takes := usageArguments(line)
	least := 0
	for _, p := range takes {
		if !strings.HasPrefix(p, "[") {
			least++
		}
	}
	switch {
	case len(args) < least:
		return fmt.Errorf("%s is missing", strings.Trim(strings.TrimSuffix(takes[len(args)], "..."), `"`))
	case len(takes) == 0 && len(args) > 0:
		return fmt.Errorf("%q is too much: %s takes flags alone", args[0], c.CommandPath())
	case len(args) > len(takes) && !strings.HasSuffix(line, "..."):
		return fmt.Errorf("%q is too much; put words that belong together in quotes", args[len(takes)])
	}
	return err // the values are wrong, not their number
}

// usageArguments returns the arguments of a usage line, some of several words.
func usageArguments(line string) (list []string) {
	depth := 0
	for _, word := range strings.Fields(line) {
		if depth > 0 {
			list[len(list)-1] += " " + word
		} else {
			list = append(list, word)
		}
		depth += strings.Count(word, "[") - strings.Count(word, "]")
	}
	return list
}
