package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/terminal"
	"github.com/messkit/messkit/mess"
)

// hasTerminal reports whether a person can type here.
func (a *app) hasTerminal() bool {
	in, ok := a.in.(*os.File)
	return ok && terminal.IsTerminal(in)
}

// askYes shows what is to be confirmed, and reads the answer of the person at the
// terminal.
func (a *app) askYes(s *mess.Status) (*bool, error) {
	fmt.Fprintf(a.out, "  %s\n", printable(s.Action))
	if s.Consequences != "" {
		fmt.Fprintf(a.out, "  %s\n", printable(s.Consequences))
	}
	return a.typedYes("do it?")
}

// typedYes asks the person at the terminal for yes or no. Nothing is no.
func (a *app) typedYes(question string) (*bool, error) {
	in := bufio.NewReader(a.in)
	for {
		fmt.Fprintf(a.out, "  %s [y/N] ", question)
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil, errors.New("there was no answer, and nothing was sent")
		} else if err != nil {
			return nil, err
		}
		if yes, ok := yesOrNo(strings.TrimSpace(line)); ok {
			return &yes, nil
		}
		fmt.Fprintln(a.out, "  write y or n")
	}
}

// forOperator asks the person at the terminal before a key gets the role operator.
// Without a terminal the exchange refuses it, and says why.
func (a *app) forOperator(ctx context.Context, actor string, roles []string) (context.Context, error) {
	if !slices.Contains(roles, "operator") || !a.hasTerminal() {
		return ctx, nil
	}
	yes, err := a.typedYes(fmt.Sprintf("%s will be able to confirm everything, and to make keys. Is that meant?", printable(actor)))
	if err == nil && !*yes {
		err = errors.New("nothing was changed")
	}
	return remote.Typed(ctx), err
}

// forHolder does so for the new key of somebody who has one.
func (a *app) forHolder(ctx context.Context, x *remote.Client, actor string) (context.Context, error) {
	list, err := x.Keys(ctx)
	if err != nil {
		return ctx, err
	}
	for _, h := range list {
		if h.Actor == actor {
			return a.forOperator(ctx, actor, h.Roles)
		}
	}
	return ctx, nil
}

// unconfirmed adds what helps a person whose yes was refused.
func (a *app) unconfirmed(err error, r *mess.Reply, ref string) error {
	refused, ok := errors.AsType[*mess.Refusal](err)
	if r.Confirm == nil || !*r.Confirm || !ok || refused.Why != mess.Forbidden || !strings.HasPrefix(refused.Text, "confirm: ") {
		return err
	}
	const link = "messkit console at a terminal of the exchange's machine shows a link to the page"
	switch {
	case strings.HasSuffix(refused.Text, "(exchange: confirm: terminal)"):
		return hint(err, "messkit reply %s without --yes asks you at a terminal of the exchange's machine; %s", ref, link)
	case strings.HasSuffix(refused.Text, "(exchange: confirm: code)"):
		return hint(err, "messkit reply %s --code CODE sends the code that the page shows; %s", ref, link)
	}
	return hint(err, link)
}
