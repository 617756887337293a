package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/peer"
	"github.com/messkit/messkit/mess"
)

func consoleCommand(a *output.Env) *cobra.Command {
	var k client.Client
	var at string
	c := &cobra.Command{
		Use:   "console",
		Short: "Show a link that signs a browser in to the console",
		Long: `Console shows a link to the page of the running exchange. A browser that opens it
within ten minutes is signed in as the owner of the key (the operator, unless
--key-file names another key). The link works once. An operator can confirm plans
with risk in a browser whose link was made at a terminal of the exchange's machine.`,
		Example: "  messkit console\n  messkit console --at https://192.168.1.7:8420",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			x, err := k.Open()
			if err != nil {
				return err
			}
			key, err := config.ReadKey(k.KeyFile)
			if err != nil {
				return err
			}
			ctx := c.Context()
			if a.HasTerminal() {
				ctx = httpclient.Typed(ctx)
			}
			l, err := x.ConsoleLink(ctx, key, at)
			if err != nil {
				return k.Unreachable(err)
			}
			link := httpclient.First(k.URL) + l.Path
			if at != "" {
				link = l.Links[0]
			}
			if l.Person != nil && !*l.Person {
				warnOfProgram(c.Context(), a, x)
			}
			_, err = fmt.Fprintln(a.Out, link)
			return err
		},
	}
	k.Flags(c)
	c.Flags().StringVar(&at, "at", "", "other address of the exchange, under which the browser reaches it")
	return c
}

// confirmScript is the setting with which an exchange takes a confirmation of any program
// (exchange: confirm:).
const confirmScript = "script"

// warnOfProgram writes that a browser with the link of this command cannot confirm a plan with risk, and
// how to get a link that can.
func warnOfProgram(ctx context.Context, a *output.Env, x *httpclient.Client) {
	if by, err := x.ConfirmBy(ctx); err == nil && by == confirmScript {
		return // every program may confirm there
	}
	why := "this command runs on another machine than the exchange, behind a proxy, or as another user"
	if err := peer.Typed(); !a.HasTerminal() || err != nil {
		why = "the input of this command is no terminal, such as in a script, or over ssh without -t"
	}
	fmt.Fprintf(a.Err, "console: a browser with this link cannot confirm plans with risk: %s; run messkit console in a terminal on the exchange's machine\n", why)
}

func inviteCommand(a *output.Env) *cobra.Command {
	var k client.Client
	var i httpclient.Invitation
	var until string
	c := &cobra.Command{
		Use:   "invite NAME",
		Short: "Show a code that signs in the phone of a person",
		Long: `Invite shows a QR code. The phone that scans it within a day belongs to the person:
the exchange offers it the tasks that no robot can do. With --role the phone opens the
home instead, with the rights of an operator, a resident, a guest or a viewer. Only at
a terminal of the exchange's machine an invitation makes an operator.

The code works once. A second invitation of a person moves the settings to the new phone
and signs out the old one.

The exchange must be reachable for the phone: messkit run --listen 0.0.0.0:8420 --tls self`,
		Example: `  messkit invite Ana
  messkit invite Ben --role resident --at https://192.168.1.7:8420
  messkit invite Cleo --role guest --until 2d --area garden --area "living room"`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			i.Name = args[0]
			if until != "" {
				at, err := endOfAccess(until, time.Now())
				if err != nil {
					return err
				}
				i.Until = mess.TimeOf(at)
			}
			return k.Call(func(x *httpclient.Client) error {
				ctx := c.Context()
				if a.HasTerminal() {
					ctx = httpclient.Typed(ctx)
				}
				l, err := x.Invite(ctx, i)
				if err != nil {
					return err
				}
				return showInvitation(a, l, k.URL)
			})
		},
	}
	k.Flags(c)
	c.Flags().StringVar(&i.At, "at", "", "address under which the phone reaches the exchange")
	c.Flags().StringVar(&i.Actor, "id", "", "the person's id, otherwise made of the name")
	c.Flags().StringVar(&i.Role, "role", "", "access to the home: operator, resident, guest or viewer")
	c.Flags().StringVar(&until, "until", "", `end of the access, which a guest needs: a duration (2d), or a time ("2026-12-24 18:00")`)
	c.Flags().StringArrayVar(&i.Areas, "area", nil, "an area that a guest may use, several times for more; otherwise all")
	c.Flags().BoolVar(&i.Entry, "entry", false, "let a guest use locks, doors, gates and alarms, too")
	return c
}

// endOfAccess reads the end of an access: a duration, a time of this machine's zone, or one with a zone.
func endOfAccess(text string, now time.Time) (time.Time, error) {
	if at, err := time.ParseInLocation("2006-01-02 15:04", text, time.Local); err == nil {
		return at, nil
	}
	at, err := mess.TimeOrDuration(text).Time(now)
	if err != nil {
		return at, fmt.Errorf(`--until: %.60q is neither a duration nor a time; write it like 2d or "2026-12-24 18:00"`, text)
	}
	return at, nil
}

func showInvitation(a *output.Env, l httpclient.Link, url string) error {
	p := output.Printer{Out: a.Out}
	if len(l.Links) == 0 {
		p.Printf("%s%s\n", strings.TrimSuffix(url, "/"), l.Path)
		p.Printf("good once, until %s; no phone reaches this address: let the exchange listen on the network, or say --at\n", l.Until)
		return p.Err
	}
	for _, row := range terminalDots(l.Dots) {
		p.Printf("%s\n", row)
	}
	for _, link := range l.Links {
		p.Printf("%s\n", link)
	}
	p.Printf("good once, until %s\n", l.Until)
	return p.Err
}

// quietZone is the margin of a QR code, in dots.
const quietZone = 4

// terminalDots draws a QR code with half blocks, two rows of dots in a line of text, light
// on dark: most terminals are dark, and readers accept both.
func terminalDots(dots []string) []string {
	dark := func(x, y int) bool {
		x, y = x-quietZone, y-quietZone
		return y >= 0 && y < len(dots) && x >= 0 && x < len(dots[y]) && dots[y][x] == '#'
	}
	side := len(dots) + 2*quietZone
	var rows []string
	for y := 0; y < side; y += 2 {
		var b strings.Builder
		for x := range side {
			b.WriteString(map[[2]bool]string{{false, false}: "█", {false, true}: "▀", {true, false}: "▄", {true, true}: " "}[[2]bool{dark(x, y), dark(x, y+1)}])
		}
		rows = append(rows, b.String())
	}
	return rows
}
