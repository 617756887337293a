package safety

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/agent/localpolicy"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/internal/peer"
)

// permitFlags has the flags of the commands that permit actions again. They need the same proof of
// a person as the confirmation of a plan with risk.
type permitFlags struct {
	localFlags
	client.Client
	code string
}

func (o *permitFlags) flags(c *cobra.Command) {
	o.localFlags.flags(c)
	o.Client.Flags(c)
	c.Flags().StringVar(&o.code, "code", "", "the code that the page shows, where the exchange has confirm: code")
}

// confirmBy returns the method by which a person confirms: the one that the last run with this
// data folder recorded, or that of the configuration.
func (o *permitFlags) confirmBy(data string) (exchange.ConfirmBy, error) {
	if by := exchange.ConfirmBy(localpolicy.In(data).Fact(localpolicy.FactConfirm)); by != "" {
		return by, nil
	}
	if o.file == "" {
		return exchange.ConfirmTerminal, nil
	}
	c, err := daemon.LoadConfig(o.file, output.NoLog)
	if err != nil {
		return "", err
	}
	return daemon.ConfirmBy(c), nil
}

// provePerson returns the proof of a person that the executor of a data folder requires. With
// ask the command asks the person. With coded the exchange checks the person's code.
func provePerson(a *output.Env, o *permitFlags, data string) (ask, coded bool, err error) {
	by, err := o.confirmBy(data)
	if err != nil {
		return false, false, err
	}
	if by == exchange.ConfirmCode && o.code != "" {
		return false, true, nil
	}
	err = by.CheckRelease(terminalProof(a))
	const link = "messkit console at a terminal of the exchange's machine shows a link to the page, for a browser on that machine"
	switch {
	case err == nil:
		return by != exchange.ConfirmScript, false, nil
	case by == exchange.ConfirmPage:
		return false, false, output.Hint(err, link)
	case by == exchange.ConfirmCode:
		return false, false, output.Hint(err, "--code CODE sends it; %s", link)
	}
	return false, false, output.Hint(err, atATerminal+"; %s", link)
}

const atATerminal = "type the command at a terminal of this machine, without a pipe"

// terminalProof returns the proof that a person types this command at a terminal.
func terminalProof(a *output.Env) exchange.Proof {
	if a.HasTerminal() && peer.Typed() == nil {
		return exchange.AtTerminal
	}
	return exchange.ByKey
}

// runByPerson calls act after the proof of a person, or coded if the person has a code.
func runByPerson(ctx context.Context, a *output.Env, o *permitFlags, data, question string, act, coded func() error) error {
	ask, byCode, err := provePerson(a, o, data)
	switch {
	case err != nil:
		return err
	case byCode:
		return o.Unreachable(coded())
	case ask:
		if err := askSure(ctx, a, question); err != nil {
			return err
		}
	}
	return act()
}

// askSure asks the person at the terminal. It returns output.ErrQuiet for every answer but yes.
func askSure(ctx context.Context, a *output.Env, question string) error {
	p, r := output.Printer{Out: a.Out}, bufio.NewReader(a.In)
	for p.Err == nil {
		p.Printf("%s [y/N] ", question)
		line, err := client.ReadLine(ctx, r)
		yes, known := client.YesOrNo(strings.TrimSpace(line))
		switch {
		case err != nil: // the end of the input is not a confirmation
			p.Printf("\nnothing was changed\n")
			return errors.Join(p.Err, output.ErrQuiet)
		case known && !yes:
			p.Printf("nothing was changed\n")
			return errors.Join(p.Err, output.ErrQuiet)
		case known:
			return p.Err
		}
	}
	return p.Err
}

// dataOf returns the data folder that the flags name.
func (o *localFlags) dataOf() (string, error) {
	if o.data != "" || o.file == "" {
		return cmp.Or(o.data, config.DataDir()), nil
	}
	c, err := daemon.LoadConfig(o.file, output.NoLog)
	if err != nil {
		return "", output.Hint(err, "name the executor's data folder instead: --data FOLDER")
	}
	return c.Agent.Data, nil
}
