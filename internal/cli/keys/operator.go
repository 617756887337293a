package keys

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
)

// confirmOperatorRole asks the person at the terminal before a key gets the role operator.
// Without a terminal the exchange rejects it with a reason.
func confirmOperatorRole(ctx context.Context, a *output.Env, actor string, roles []string) (context.Context, error) {
	if !slices.Contains(roles, "operator") || !a.HasTerminal() {
		return ctx, nil
	}
	yes, err := client.ReadYes(a, fmt.Sprintf("%s will be able to confirm everything, and to make keys. Is that meant?", output.Printable(actor)))
	if err == nil && !*yes {
		err = errors.New("nothing was changed")
	}
	return httpclient.Typed(ctx), err
}

// confirmHolderRole does the same for the new key of an existing operator.
func confirmHolderRole(ctx context.Context, a *output.Env, x *httpclient.Client, actor string) (context.Context, error) {
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
