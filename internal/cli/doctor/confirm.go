package doctor

import (
	"context"

	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon"
)

// checkConfirm asks the exchange that runs how plans with risk are confirmed.
func checkConfirm(ctx context.Context, k *client.Client) []output.CheckResult {
	ctx, cancel := context.WithTimeout(ctx, config.ReachTime)
	defer cancel()
	key, err := config.ReadKey(k.KeyFile)
	if err != nil {
		return nil // the check of the key tells
	}
	var s daemon.Status
	if x, err := remote.New(k.Config(key), output.NoLog); err != nil || x.Status(ctx, &s) != nil {
		return nil // the check of the exchange tells; who is no operator is not told more
	}
	if says := s.Confirm.Warning(); says != "" {
		return []output.CheckResult{{What: "confirm", OK: true, Note: true, Says: says}}
	}
	return nil
}
