package main

import (
	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote"
)

func (a *app) watchCommand() *cobra.Command {
	var k client
	var asJSON bool
	c := &cobra.Command{
		Use:     "watch",
		Short:   "Show what happens, as it happens",
		Example: "  messkit watch",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			x, err := k.open()
			if err != nil {
				return err
			}
			err = x.Follow(c.Context(), "", func(e remote.Event) error { return a.event(e, asJSON) })
			if c.Context().Err() != nil {
				return nil // the person has seen enough
			}
			return k.unreachable(err)
		},
	}
	k.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, an event a line")
	return c
}

func (a *app) event(e remote.Event, asJSON bool) error {
	if len(e.Message.Items) == 0 {
		return nil // a reset: nothing was said
	}
	if asJSON {
		text, err := e.Message.JSON()
		if err == nil {
			_, err = a.out.Write(append(text, '\n'))
		}
		return err
	}
	p := printer{out: a.out, all: true}
	p.printf("%s  %s\n", e.Thread.Ref, printable(e.Thread.Intent))
	p.message(e.Message)
	return p.err
}
