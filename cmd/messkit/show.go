package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/mess"
)

func (a *app) showCommand() *cobra.Command {
	var k client
	var asJSON, asYAML bool
	var saveDir string
	c := &cobra.Command{
		Use:     "show REF",
		Short:   "Show all that was said about a request",
		Example: "  messkit show 2026-11-21-003 --save .",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			x, err := k.open()
			if err != nil {
				return err
			}
			ref, err := wholeRef(c.Context(), x, args[0])
			if err != nil {
				return k.unreachable(err)
			}
			t, err := x.Thread(c.Context(), ref)
			if err != nil {
				return k.unreachable(err)
			}
			switch {
			case asJSON:
				err = a.json(threadJSON(t))
			case asYAML:
				err = a.yaml(mess.YAMLAll(t.Messages))
			default:
				p := printer{out: a.out, all: true}
				p.printf("%s  %s  %s\n", t.Ref, t.Status, printable(t.Intent))
				for _, m := range t.Messages {
					p.message(m)
				}
				p.attachments(t.Messages)
				err = p.err
			}
			if err != nil || saveDir == "" {
				return err
			}
			f := a.follower(x, t.Ref, &waiting{saveDir: saveDir, asJSON: asJSON})
			for _, m := range t.Messages {
				if err := f.save(c.Context(), m); err != nil {
					return err
				}
			}
			return nil
		},
	}
	k.flags(c)
	f := c.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.BoolVar(&asYAML, "yaml", false, "print the messages as they are")
	f.StringVar(&saveDir, "save", "", "save pictures and files to this folder")
	c.MarkFlagsMutuallyExclusive("json", "yaml")
	return c
}

// attachments lists the files of a thread.
func (p *printer) attachments(messages []mess.Message) {
	for _, m := range messages {
		for _, item := range m.Items {
			r, ok := item.(*mess.Response)
			if !ok {
				continue
			}
			for _, e := range r.Content {
				if media, ok := e.Media(); ok && media.File != "" {
					p.printf("file: %s%s\n", media.File, sizeOf(media))
				}
			}
		}
	}
}

func sizeOf(m mess.Media) string {
	if m.Size == nil {
		return ""
	}
	return fmt.Sprintf(" (%d KB)", (*m.Size+1023)>>10)
}
