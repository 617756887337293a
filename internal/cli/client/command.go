package client

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/output"
)

// Command completes a command that calls an exchange. It adds the flags of a client, and do gets
// the client. An error of the connection gets a remedy.
func Command(c *cobra.Command, do func(ctx context.Context, x *httpclient.Client, args []string) error) *cobra.Command {
	var k Client
	c.RunE = func(c *cobra.Command, args []string) error {
		return k.Call(func(x *httpclient.Client) error { return do(c.Context(), x, args) })
	}
	k.Flags(c)
	return c
}

// Query completes a command without arguments that shows data of an exchange. show prints what
// read returns, or --json prints it as JSON.
func Query[T any](a *output.Env, c *cobra.Command, read func(context.Context, *httpclient.Client) (T, error), show func(*output.Env, T) error) *cobra.Command {
	var asJSON bool
	c.Args = cobra.NoArgs
	Command(c, func(ctx context.Context, x *httpclient.Client, _ []string) error {
		data, err := read(ctx, x)
		switch {
		case err != nil:
			return err
		case asJSON:
			return a.JSON(data)
		}
		return show(a, data)
	})
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
