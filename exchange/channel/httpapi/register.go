package httpapi

import (
	"errors"
	"net/http"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/mess"
)

// maxProfile is the limit of a registration, in bytes.
const maxProfile = 64 << 10

// register gives a key to an executor or a requester.
func (c *call) register() error {
	if err := c.checkLength(maxProfile); err != nil {
		return err
	}
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, maxProfile) // from a sender without authentication
	body, err := c.readObject()
	if err != nil {
		return err
	}
	id, err := textField(body, "executor_id")
	if err != nil {
		return err
	}
	if id == "" {
		return mess.Errorf(mess.Invalid, "executor_id required")
	}
	if !mess.ValidID(id) {
		return mess.Errorf(mess.Invalid, "executor_id: %.60q cannot be an id; use letters, digits and . _ : @ -", id)
	}
	code, err := textField(body, "enrol")
	if err != nil {
		return err
	}
	g, failed, err := c.authorizeRegistration(id, code)
	if err != nil {
		return err
	}
	if err := c.registerActor(id, g, body); err != nil {
		failed()
		return err
	}
	return nil
}

// registerActor registers an actor with the granted rights.
func (c *call) registerActor(id string, g keys.Grant, body mess.Object) error {
	e, err := c.parseProfile(id, body)
	if err != nil {
		return err
	}
	// A registered actor without a key uses another channel, or this process.
	if _, known := c.x.Executor(id); known && !c.isCallerOperator() {
		return mess.Errorf(mess.Conflict, "executor %s has registered already; if you lost its key, an operator can register it again", id)
	}
	if len(e.Capabilities) > 0 && g.Roles&exchange.ExecutorRole == 0 {
		return mess.Errorf(mess.Forbidden, "capabilities: this code lets %s ask, and be no executor; an operator makes a code for its name, or with the role executor", id)
	}
	enroll := c.keys.Enroll
	if c.isCallerOperator() && id != keys.OperatorID {
		enroll = func(id string, g keys.Grant) (string, error) { return c.keys.Rotate(id, g.Roles) } // the old key ends
	}
	key, err := enroll(id, g)
	if err != nil {
		return err
	}
	c.actor = exchange.Actor{ID: id, Roles: g.Roles}
	if len(e.Capabilities) > 0 { // without capabilities, the actor is only a requester
		if _, err := c.post(mess.Message{Items: []mess.Item{&mess.Config{Executor: e}}}); err != nil {
			_, revoked := c.keys.Revoke(id)
			return errors.Join(err, revoked)
		}
	}
	c.log().Info("registered", "actor", id)
	c.writeJSON(http.StatusCreated, withUnknown(map[string]any{"executor_id": id, "api_key": key, "message": shownOnce}, body, profileFields))
	return nil
}
