package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange"
	maildoor "github.com/messkit/messkit/exchange/agentmail/door"
	"github.com/messkit/messkit/exchange/agentmail/mailbox"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/secret"
)

// mailTime is what a mail server may take for one answer.
const mailTime = 20 * time.Second

// openMail makes the Agent Mail door. Without one it returns nil.
func openMail(ctx context.Context, cfg *exchangeConfig, x *exchange.Exchange, log *slog.Logger) (*maildoor.Door, error) {
	c := cfg.Mail
	if !c.Wanted() {
		return nil, nil
	}
	var box maildoor.Mailbox
	if c.Server != "" {
		token, err := mailToken(c.TokenFile)
		if err != nil {
			return nil, err
		}
		box = mailbox.New(mailbox.Config{
			URL: c.Server, Bearer: token, Project: c.Project, Name: c.Name, Description: described(x), Version: output.Version, Contacts: c.Contacts(), Timeout: mailTime,
		})
	}
	d, err := maildoor.Open(ctx, x, c, box, cfg.Data, time.Now, log)
	if err != nil {
		return nil, fmt.Errorf("agentmail: %w", err)
	}
	return d, nil
}

// mailToken reads the token of a mail server.
func mailToken(name string) (secret.Text, error) {
	if name == "" {
		return "", nil
	}
	key, err := readKey(expand(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("agentmail: token_file: %s is not there; put the mail server's bearer token (HTTP_BEARER_TOKEN) into it", name)
	}
	return secret.Text(key), err
}

// described is what a mail server tells others of this exchange.
func described(x *exchange.Exchange) string {
	var ids []string
	for _, c := range x.Capabilities(nil) {
		ids = append(ids, c.ID)
	}
	return "an exchange for tasks in the physical world; send task_assignment. capabilities: " + strings.Join(ids, ", ")
}

// zones tells the gate what is reserved, once there is a door that knows.
type zones struct{ door atomic.Pointer[maildoor.Door] }

func (z *zones) reserved(device, by string) (string, time.Time, <-chan struct{}, bool) {
	d := z.door.Load()
	if d == nil {
		return "", time.Time{}, nil, false
	}
	return d.Reserved(device, by)
}

// printMail prints how the Agent Mail door stands.
func printMail(p *output.Printer, r *maildoor.Report) {
	if r == nil {
		return
	}
	m := r.Mailbox
	switch {
	case m.Err != "":
		p.Printf("mail      NOT REACHED: %s\n", output.Printable(m.Err))
	case m.Name != "":
		p.Printf("mail      %s at its server; %s here, %s with others, %s to send\n", output.Printable(m.Name), output.Count(m.Tasks, "task"), output.Count(m.Given, "task"), output.Count(m.Waiting, "message"))
	default:
		p.Printf("mail      over HTTP; %s here\n", output.Count(m.Tasks, "task"))
	}
	for _, z := range r.Zones {
		p.Printf("reserved  %s  by %s until %s\n", output.Printable(strings.Join(z.Devices, ", ")), output.Printable(z.By), z.Until.Local().Format(time.DateTime))
	}
	if n := len(r.Refused); n > 0 {
		p.Printf("refused   %s; the last of %s: %s\n", output.Count(n, "message"), output.Printable(r.Refused[n-1].From), output.Printable(r.Refused[n-1].Details))
	}
}

func unreserveCommand(a *output.Env) *cobra.Command {
	var k client
	c := &cobra.Command{
		Use:   "unreserve DEVICE",
		Short: "Free a device that a mail agent has reserved",
		Long: `Unreserve ends the reservations of a device by mail agents, all that go with them
included; tasks that have waited for it go on. It needs the operator's key.
messkit status --json shows under agentmail what is reserved.`,
		Example: "  messkit unreserve vacuum",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			x, err := k.open()
			if err != nil {
				return err
			}
			by, err := x.Unreserve(c.Context(), args[0])
			if k.isOff(err) {
				return output.Hint(err, "are there mail agents? this exchange has no agentmail: in its configuration (docs/agentmail.md), so that nobody has reserved anything")
			}
			if err != nil {
				return k.unreachable(err)
			}
			_, err = fmt.Fprintf(a.Out, "freed: %s, which %s had reserved\n", args[0], strings.Join(by, ", "))
			return err
		},
	}
	k.flags(c)
	return c
}
