package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/admin"
	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/exchange/console"
	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
)

// place is the executor of this program, for the console. The agent comes later
// than the door: until then there is little to tell.
type place struct {
	cfg *config
	o   *outputs
	own *ownExchange // has the agent
}

var _ console.Here = (*place)(nil)

// placeState is how the devices here stand.
type placeState struct {
	Executor string            `json:"executor"`
	Stopped  string            `json:"stopped,omitempty"` // why
	Disarmed map[string]string `json:"disarmed"`          // why, by risk class or device
	Unknown  string            `json:"unknown,omitempty"` // why nothing acts
	Devices  []placeDevice     `json:"devices"`
}

type placeDevice struct {
	Name       string        `json:"name"`
	Label      string        `json:"label,omitempty"`
	Area       string        `json:"area,omitempty"`
	Class      string        `json:"class,omitempty"`
	Acts       bool          `json:"acts,omitempty"` // there is something that it could be kept from
	Doing      string        `json:"doing,omitempty"`
	Reads      bool          `json:"reads,omitempty"` // it tells its state when it is asked
	Seen       []agent.Seen  `json:"seen,omitempty"`  // nothing: it was not read
	Started    bool          `json:"started"`
	Failed     agent.Failure `json:"failed,omitzero"` // its last use, until it works again
	Quarantine bool          `json:"quarantine,omitempty"`
	Trouble    string        `json:"trouble,omitempty"`
	Locked     string        `json:"locked,omitempty"` // why
	Disarmed   bool          `json:"disarmed,omitempty"`
	Safety     string        `json:"safety,omitempty"` // what came of the stop that holds
}

// State is how the devices stand.
func (p *place) State() any {
	local, hung := p.o.now.Local(), p.o.gate.Hung()
	s := placeState{Executor: p.cfg.Agent.ID, Stopped: p.o.gate.Stopped(), Unknown: unknownLocal(local), Disarmed: map[string]string{}, Devices: []placeDevice{}}
	for class, why := range local.Disarmed {
		s.Disarmed[string(class)] = why
	}
	maps.Copy(s.Disarmed, local.Unarmed)
	safety := map[string]gate.Safe{}
	if s.Stopped != "" {
		for _, one := range p.o.gate.Safety() {
			safety[one.Device] = one
		}
	}
	if p.own.agent == nil {
		return s
	}
	for _, d := range p.own.agent.agent.Status().Devices {
		one := placeDevice{Name: d.Name, Label: d.Label, Doing: d.Doing, Reads: d.Reads, Seen: d.Seen, Started: d.Started, Failed: d.Failed}
		if c := p.cfg.home.device(d.Name); c != nil {
			one.Area, one.Class = c.area(), c.class()
			one.Acts = slices.ContainsFunc(agent.Commands(c.dev), func(c capabilities.Command) bool {
				return capabilities.Plan{Command: c, Effect: capabilities.Query}.Actuates()
			})
		}
		if call, is := hung[d.Name]; is {
			one.Quarantine, one.Trouble = true, fmt.Sprintf("its driver has not come back from %q; check the device", call)
		}
		if why, is := local.Locked[d.Name]; is {
			if one.Locked = why; why == "" {
				one.Locked = "by hand"
			}
		}
		if _, is := local.Unarmed[d.Name]; is {
			one.Disarmed = true
		}
		if safe, is := safety[d.Name]; is {
			one.Safety = string(safe.State)
			if safe.State == gate.Unsafe {
				one.Trouble = safe.Err
			}
		}
		s.Devices = append(s.Devices, one)
	}
	return s
}

// Plan tells what a request would do, as messkit plan does, and after answers as
// the agent does.
func (p *place) Plan(intent string, requires []string, answers []mess.Object) any {
	req := mess.Request{Intent: intent}
	for _, id := range requires {
		req.Requires = append(req.Requires, mess.Capability{ID: id})
	}
	return outcomeJSON(p.cfg.foresee(req, func(home *agent.Home) capabilities.Outcome {
		out := home.Resolve(req)
		for _, given := range answers {
			if out.Question == nil {
				break
			}
			text, _ := given.Get(out.Question.Field)
			said, _ := text.(string) // "": not in words
			out = home.Answer(*out.Question, given, said, req)
		}
		return out
	}))
}

// Stop stops everything here.
func (p *place) Stop(by, why string) { p.o.stop.Stop(stop.Order{Why: why, By: by}) }

// Release ends the stop, as messkit clear does.
func (p *place) Release(by string, anyway bool) ([]string, error) {
	dir := stopFolder(p.cfg.Agent.Data)
	if unsafe := awaitSafe(context.Background(), dir, clearWithin); len(unsafe) > 0 && !anyway {
		return nil, notSafe(unsafe)
	}
	orders, err := clearStop(dir, by)
	cleared := make([]string, len(orders))
	for i, o := range orders {
		cleared[i] = o.String()
	}
	return cleared, err
}

func (p *place) folder() admin.Folder { return admin.In(p.cfg.Agent.Data) }

// Arm is messkit arm.
func (p *place) Arm(what string) error {
	if what == "" {
		return p.folder().Arm()
	}
	class, err := classOrDevice(what, p.cfg.home.names())
	switch {
	case err != nil:
		return err
	case class != "":
		return p.folder().Arm(class)
	}
	return p.folder().ArmDevice(what)
}

// Disarm is messkit disarm.
func (p *place) Disarm(what, why string) error {
	if what == "" {
		return p.folder().Disarm(why, time.Now(), everyClass...)
	}
	class, err := classOrDevice(what, p.cfg.home.names())
	switch {
	case err != nil:
		return err
	case class != "":
		return p.folder().Disarm(why, time.Now(), class)
	}
	return p.folder().DisarmDevice(what, why, time.Now())
}

// Lock is messkit lock.
func (p *place) Lock(device, why string) error {
	if err := isDevice(device, p.cfg.home.names()); err != nil {
		return err
	}
	return p.folder().Lock(device, why, time.Now())
}

// Unlock is messkit unlock.
func (p *place) Unlock(device string) error {
	err := p.folder().Unlock(device)
	if errors.Is(err, admin.ErrNot) {
		return fmt.Errorf("%s is not locked here; what its configuration locks, that unlocks", device)
	}
	return err
}

func consoleCommand(a *output.Env) *cobra.Command {
	var k client
	var at string
	c := &cobra.Command{
		Use:   "console",
		Short: "Show a link that signs a browser in",
		Long: `Console shows a link to the page of the running exchange. A browser that opens it
within ten minutes is signed in, as whoever has the key (the operator, unless
--key-file says otherwise). The link is good once. In a browser that opened a link which
was made at a terminal of the exchange's machine, an operator can confirm plans with risk.`,
		Example: "  messkit console\n  messkit console --at https://192.168.1.7:8420",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			x, err := k.open()
			if err != nil {
				return err
			}
			key, err := readKey(k.keyFile)
			if err != nil {
				return err
			}
			ctx := c.Context()
			if a.HasTerminal() {
				ctx = remote.Typed(ctx)
			}
			l, err := x.ConsoleLink(ctx, key, at)
			if err != nil {
				return k.unreachable(err)
			}
			link := strings.TrimSuffix(k.url, "/") + l.Path
			if at != "" {
				link = l.Links[0]
			}
			_, err = fmt.Fprintln(a.Out, link)
			return err
		},
	}
	k.flags(c)
	c.Flags().StringVar(&at, "at", "", "address under which the browser reaches the exchange, if it is another one")
	return c
}

func inviteCommand(a *output.Env) *cobra.Command {
	var k client
	var at, actor string
	c := &cobra.Command{
		Use:   "invite NAME",
		Short: "Show a code with which a person's phone takes part",
		Long: `Invite shows a QR code. A phone that scans it within a day is the person's: what
no robot can do is offered there. The code is good once. Who is invited again
keeps what was set, on the new phone; the old one is signed out.

The exchange must be reachable for the phone: messkit run --listen 0.0.0.0:8420 --tls self`,
		Example: "  messkit invite Ana\n  messkit invite Ana --at https://192.168.1.7:8420",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			x, err := k.open()
			if err != nil {
				return err
			}
			l, err := x.Invite(c.Context(), args[0], actor, at)
			if err != nil {
				return k.unreachable(err)
			}
			return showInvitation(a, l, k.url)
		},
	}
	k.flags(c)
	c.Flags().StringVar(&at, "at", "", "address under which the phone reaches the exchange")
	c.Flags().StringVar(&actor, "id", "", "the person's id, otherwise made of the name")
	return c
}

func showInvitation(a *output.Env, l remote.Link, url string) error {
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

// quiet zone of a QR code, in dots.
const quietZone = 4

// terminalDots draws a QR code with half blocks, two rows of dots in a line of
// text, light on dark: most terminals are dark, and readers take both.
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
