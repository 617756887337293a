package daemon

import (
	"time"

	"github.com/messkit/messkit/internal/daemon/status"
)

func (e *OwnExchange) confirm() status.Confirm {
	c := status.Confirm{By: e.x.ConfirmBy()}
	if at := e.model.Load(); at != 0 {
		c.Model = new(time.Unix(at, 0).UTC())
	}
	return c
}

// modelSeen records that a process of this user has used a model's interface.
func (e *OwnExchange) modelSeen() { e.model.Store(time.Now().Unix()) }
