package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
)

// askYes shows what is to be confirmed, and reads the answer of the person at the
// terminal.
func askYes(a *output.Env, s *mess.Status) (*bool, error) {
	fmt.Fprintf(a.Out, "  %s\n", output.Printable(s.Action))
	if s.Consequences != "" {
		fmt.Fprintf(a.Out, "  %s\n", output.Printable(s.Consequences))
	}
	return ReadYes(a, "do it?")
}

// ReadYes asks the person at the terminal for yes or no. Nothing is no.
func ReadYes(a *output.Env, question string) (*bool, error) {
	in := bufio.NewReader(a.In)
	for {
		fmt.Fprintf(a.Out, "  %s [y/N] ", question)
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil, errors.New("there was no answer, and nothing was sent")
		} else if err != nil {
			return nil, err
		}
		if yes, ok := yesOrNo(strings.TrimSpace(line)); ok {
			return &yes, nil
		}
		fmt.Fprintln(a.Out, "  write y or n")
	}
}

// confirmOperatorRole asks the person at the terminal before a key gets the role operator.
// Without a terminal the exchange refuses it, and says why.
func confirmOperatorRole(ctx context.Context, a *output.Env, actor string, roles []string) (context.Context, error) {
	if !slices.Contains(roles, "operator") || !a.HasTerminal() {
		return ctx, nil
	}
	yes, err := ReadYes(a, fmt.Sprintf("%s will be able to confirm everything, and to make keys. Is that meant?", output.Printable(actor)))
	if err == nil && !*yes {
		err = errors.New("nothing was changed")
	}
	return remote.Typed(ctx), err
}

// confirmHolderRole does so for the new key of somebody who has one.
func confirmHolderRole(ctx context.Context, a *output.Env, x *remote.Client, actor string) (context.Context, error) {
	list, err := x.Keys(ctx)
	if err != nil {
		return ctx, err
	}
	for _, h := range list {
		if h.Actor == actor {
			return confirmOperatorRole(ctx, a, actor, h.Roles)
		}
	}
	return ctx, nil
}

// hintUnconfirmed adds what helps a person whose yes was refused.
func hintUnconfirmed(a *output.Env, err error, r *mess.Reply, ref string) error {
	refused, ok := errors.AsType[*mess.Refusal](err)
	if r.Confirm == nil || !*r.Confirm || !ok || refused.Why != mess.Forbidden || !strings.HasPrefix(refused.Text, "confirm: ") {
		return err
	}
	const link = "messkit console at a terminal of the exchange's machine shows a link to the page"
	switch {
	case strings.HasSuffix(refused.Text, "(exchange: confirm: terminal)"):
		return output.Hint(err, "messkit reply %s without --yes asks you at a terminal of the exchange's machine; %s", ref, link)
	case strings.HasSuffix(refused.Text, "(exchange: confirm: code)"):
		return output.Hint(err, "messkit reply %s --code CODE sends the code that the page shows; %s", ref, link)
	}
	return output.Hint(err, link)
}
