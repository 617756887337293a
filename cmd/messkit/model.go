package main

import (
	"context"
	"fmt"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/cli/output"
)

// confirmJSON is how plans with risk are confirmed, and whether that keeps a model
// from doing so itself.
type confirmJSON struct {
	By    exchange.ConfirmBy `json:"by"`
	Model *time.Time         `json:"model_of_same_user,omitempty"` // when one used the exchange last; nil: none since the start
}

func (e *ownExchange) confirm() confirmJSON {
	c := confirmJSON{By: e.x.ConfirmBy()}
	if at := e.model.Load(); at != 0 {
		c.Model = new(time.Unix(at, 0).UTC())
	}
	return c
}

// modelSeen notes that a model's interface was used by a process of this user.
func (e *ownExchange) modelSeen() { e.model.Store(time.Now().Unix()) }

// warning says that a model could confirm what it asks for; "" if it could not.
func (c confirmJSON) warning() string {
	if c.Model == nil || c.By != exchange.ConfirmTerminal && c.By != exchange.ConfirmScript {
		return ""
	}
	how := "open a terminal of its own and confirm there"
	if c.By == exchange.ConfirmScript {
		how = "confirm with it"
	}
	return fmt.Sprintf("a model's interface runs as the user of the exchange (last used %s): if the model has a shell, it can read the operator's key and %s; write exchange: confirm: page, or run the model as another user",
		c.Model.Local().Format(time.DateTime), how)
}

// checkConfirm asks the exchange that runs how plans with risk are confirmed.
func (k *client) checkConfirm(ctx context.Context) []output.CheckResult {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	key, err := readKey(k.keyFile)
	if err != nil {
		return nil // the check of the key tells
	}
	var s statusJSON
	if x, err := remote.New(k.config(key), output.NoLog); err != nil || x.Status(ctx, &s) != nil {
		return nil // the check of the exchange tells; who is no operator is not told more
	}
	if says := s.Confirm.warning(); says != "" {
		return []output.CheckResult{{What: "confirm", OK: true, Note: true, Says: says}}
	}
	return nil
}
