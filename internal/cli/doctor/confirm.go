package doctor

import (
	"context"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon/status"
)

// checkConfirm asks the running exchange how a person confirms plans with risk.
func checkConfirm(ctx context.Context, k *client.Client) []output.CheckResult {
	ctx, cancel := context.WithTimeout(ctx, config.ReachTime)
	defer cancel()
	key, err := config.ReadKey(k.KeyFile)
	if err != nil {
		return nil // the check of the key reports it
	}
	var s status.Document
	if x, err := httpclient.New(k.Config(key), output.NoLog); err != nil || x.Status(ctx, &s) != nil {
		return nil // the check of the exchange reports it; only an operator gets more
	}
	if says := s.Confirm.Warning(); says != "" {
		return []output.CheckResult{{What: "confirm", OK: true, Note: true, Says: says}}
	}
	return nil
}
