package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailbox"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/secret"
)

// mailTime is the longest time for one answer of a mail server.
const mailTime = 20 * time.Second

// openMail makes the Agent Mail channel, or returns nil if the configuration has none.
func openMail(ctx context.Context, cfg *config.Exchange, x *exchange.Exchange, log *slog.Logger) (*agentmail.Adapter, error) {
	c := cfg.Mail
	if !c.Wanted() {
		return nil, nil
	}
	var box agentmail.Mailbox
	if c.Server != "" {
		token, err := mailToken(c.TokenFile)
		if err != nil {
			return nil, err
		}
		box = mailbox.New(mailbox.Config{
			URL: c.Server, Bearer: token, Project: c.Project, Name: c.Name, Description: exchangeDescription(x), Version: output.Version, Contacts: c.Contacts(), Timeout: mailTime,
		})
	}
	d, err := agentmail.Open(ctx, x, c, box, cfg.Data, time.Now, log)
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
	key, err := config.ReadKey(config.Expand(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("agentmail: token_file: %s is not there; put the mail server's bearer token (HTTP_BEARER_TOKEN) into it", name)
	}
	return secret.Text(key), err
}

// exchangeDescription returns the description that a mail server shows of this exchange.
func exchangeDescription(x *exchange.Exchange) string {
	var ids []string
	for _, c := range x.Capabilities(nil) {
		ids = append(ids, c.ID)
	}
	return "an exchange for tasks in the physical world; send task_assignment. capabilities: " + strings.Join(ids, ", ")
}

// reservations passes the reservations of the Agent Mail channel to the safety policy, as soon as the
// channel is open.
type reservations struct {
	adapter atomic.Pointer[agentmail.Adapter]
}

func (r *reservations) reserved(device, by string) (string, time.Time, <-chan struct{}, bool) {
	d := r.adapter.Load()
	if d == nil {
		return "", time.Time{}, nil, false
	}
	return d.Reserved(device, by)
}
