package status

import (
	"fmt"
	"time"

	"github.com/messkit/messkit/exchange"
)

// Confirm contains the method by which a person confirms plans with risk. It also contains the last
// time when a process of the same user served a model, which could then confirm as well.
type Confirm struct {
	By    exchange.ConfirmBy `json:"by"`
	Model *time.Time         `json:"model_of_same_user,omitempty"` // when one used the exchange last; nil: none since the start
}

// Warning returns a text if a model could confirm its own requests, and "" otherwise.
func (c Confirm) Warning() string {
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
