package requests

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
)

// ShowCommand returns the command messkit show.
func ShowCommand(a *output.Env) *cobra.Command {
	var asJSON, asYAML bool
	var saveDir string
	c := client.Command(&cobra.Command{
		Use:     "show REF",
		Short:   "Show the thread of a request",
		Example: "  messkit show 2026-11-21-003 --save .",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, x *httpclient.Client, args []string) error {
		ref, err := client.WholeRef(ctx, x, args[0])
		if err != nil {
			return err
		}
		t, err := x.Thread(ctx, ref)
		if err != nil {
			return err
		}
		switch {
		case asJSON:
			err = a.JSON(output.ThreadJSON(t))
		case asYAML:
			err = a.YAML(mess.YAMLAll(t.Messages))
		default:
			p := output.Printer{Out: a.Out, All: true}
			p.Printf("%s  %s  %s\n", t.Ref, t.Status, output.Printable(t.Intent))
			for _, m := range t.Messages {
				p.Message(m)
			}
			printAttachments(&p, t.Messages)
			err = p.Err
		}
		if err != nil || saveDir == "" {
			return err
		}
		f := client.NewFollower(a, x, t.Ref, &client.FollowOptions{SaveDir: saveDir, AsJSON: asJSON})
		for _, m := range t.Messages {
			if err := f.Save(ctx, m); err != nil {
				return err
			}
		}
		return nil
	})
	f := c.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.BoolVar(&asYAML, "yaml", false, "print the messages as they are")
	f.StringVar(&saveDir, "save", "", "save images and files to this folder")
	c.MarkFlagsMutuallyExclusive("json", "yaml")
	return c
}

// printAttachments lists the files of a thread.
func printAttachments(p *output.Printer, messages []mess.Message) {
	for _, r := range mess.ItemsOf[*mess.Response](messages) {
		for _, e := range r.Content {
			if media, ok := e.Media(); ok && media.File != "" {
				p.Printf("file: %s%s\n", media.File, sizeOf(media))
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
