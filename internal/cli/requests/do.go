package requests

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
)

// ordering are the flags of `messkit do`.
type ordering struct {
	client.Client
	wait   client.FollowOptions
	asJSON bool
	id     string
}

// DoCommand returns the command messkit do.
func DoCommand(a *output.Env) *cobra.Command {
	var k ordering
	c := &cobra.Command{
		Use:   "do DEVICE VERB [NAME=VALUE ...]",
		Short: "Request a verb of a device, without a sentence",
		Long: `Do makes the request for one verb of one device, and needs no sentence. messkit devices
lists the devices with their verbs. DEVICE is EXECUTOR:DEVICE, or the name of a device that
only one executor has. The arguments of the verb follow as NAME=VALUE. within=TIME is the
time in which the executor must begin; it is 60 s without it.

The request takes the same way as one of messkit ask: the safety policy and confirmations
apply. With --wait it shows the progress until the end, and asks you the questions of the
executor.

Exit code: 0 done (or accepted, without --wait), 1 not done, 2 wrong command line.`,
		Example: `  messkit do hall-light switch-on --wait
  messkit do hall-light set-brightness level=40 within=10s`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			values, err := argumentsOf(c, args[2:])
			if err != nil {
				return err
			}
			if err := k.wait.Folder(c); err != nil {
				return err
			}
			return k.Call(func(x *httpclient.Client) error { return k.run(c.Context(), a, x, args[0], args[1], values) })
		},
	}
	k.Flags(c)
	k.wait.Flags(c)
	f := c.Flags()
	f.BoolVar(&k.asJSON, "json", false, "print JSON: the ref and its state, or with --wait the whole thread")
	f.StringVar(&k.id, "id", "", "your own name for the request; the same id again is the same request")
	return c
}

// argumentsOf reads the arguments of a verb.
func argumentsOf(c *cobra.Command, words []string) (mess.Object, error) {
	var o mess.Object
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return nil, output.Usagef(c, "%q is not an argument; write NAME=VALUE, such as level=40", word)
		}
		if _, twice := o.Get(name); twice {
			return nil, output.Usagef(c, "%s: there are two values; write one", name)
		}
		o = append(o, mess.Field{Key: name, Value: value})
	}
	return o, nil
}

func (k *ordering) run(ctx context.Context, a *output.Env, x *httpclient.Client, device, verb string, args mess.Object) error {
	made, err := x.Operate(ctx, device, verb, args, k.id)
	if errors.Is(err, mess.NotFound) {
		return output.Hint(err, "messkit devices lists the devices with their verbs")
	}
	if err != nil {
		return err
	}
	if k.wait.Wait {
		k.wait.AsJSON = k.asJSON
		return client.Follow(ctx, a, x, made.Ref, &k.wait)
	}
	if k.asJSON {
		return a.JSON(made)
	}
	if _, err := fmt.Fprintln(a.Out, made.Ref); err != nil {
		return err
	}
	return printTaken(a, made.Ref)
}
