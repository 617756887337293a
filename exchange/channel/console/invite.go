package console

import (
	"cmp"
	"context"
	"strings"
	"time"

	"rsc.io/qr"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/mess"
)

// invite lets a person register once under an id.
type invite struct {
	actor string
	name  string // the name that people call this person

	access keys.Access // zero for a human executor
}

const (
	inviteTime = 24 * time.Hour
	linkTime   = 10 * time.Minute
)

// newInvite makes an invitation. It rejects the id of an executor that is no person, and of any
// other actor with a key.
func (c *Console) newInvite(i invite, byPerson bool) (token string, ends time.Time, err error) {
	actor, name := i.actor, i.name
	if actor == "" {
		if actor = idOf(name); actor == "" {
			return "", ends, mess.Errorf(mess.Invalid, "name: %.60q gives no id; write one with letters a to z or digits, or give the id as well", name)
		}
	}
	if !mess.ValidID(actor) || actor == exchange.Self {
		return "", ends, mess.Errorf(mess.Invalid, "actor: %.60q cannot be an id; use letters, digits and . _ : @ -", actor)
	}
	if len(name) > maxName {
		return "", ends, mess.Errorf(mess.Invalid, "name: more than %d bytes; write a shorter one", maxName)
	}
	i.actor, i.name = actor, cmp.Or(name, actor)
	if err := c.checkInvite(i); err != nil {
		return "", ends, err
	}
	return c.newLink(inviteTime, func([32]byte) link { return link{invite: &i, person: byPerson && i.access.Role != ""} })
}

// maxName is the limit of a person's name, in bytes.
const maxName = 100

// idOf makes an id from a name: Ana Maria becomes ana-maria.
func idOf(name string) string {
	fields := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789", r) })
	return strings.Join(fields, "-")
}

func (c *Console) checkInvite(i invite) error {
	actor := i.actor
	if i.access.Role != "" {
		if err := i.access.Check(); err != nil {
			return err
		}
	}
	_, isPerson := c.keys.Person(actor)
	if e, ok := c.x.Executor(actor); ok {
		switch {
		case exchange.IsPerson(e.Executor) && i.access.Role == "":
			return nil
		case exchange.IsPerson(e.Executor):
			return mess.Errorf(mess.Conflict, "%s takes tasks with a phone, and has a page for them; choose another name for the access to the home", actor)
		}
		return mess.Errorf(mess.Conflict, "%s is an executor that is no person; choose another name", actor)
	}
	switch {
	case isPerson && i.access.Role != "":
		return nil
	case isPerson:
		return mess.Errorf(mess.Conflict, "%s has access to the home; choose another name for the page of tasks", actor)
	case c.keys.Has(actor):
		return mess.Errorf(mess.Conflict, "%s has a key already, for something else than a phone; choose another name", actor)
	}
	return nil
}

// acceptInvite gives the person a new key, which signs out the earlier phone. The capabilities
// and the availability stay as they are.
func (c *Console) acceptInvite(ctx context.Context, i invite) (key string, err error) {
	if err := c.checkInvite(i); err != nil {
		return "", err
	}
	if i.access.Role != "" {
		key, err := c.keys.Admit(i.actor, i.name, i.access)
		if err == nil {
			c.log.Info("person admitted", "person", i.actor, "role", i.access.Role)
		}
		return key, err
	}
	const roles = exchange.Requester | exchange.ExecutorRole
	if key, err = c.keys.Rotate(i.actor, roles); err != nil {
		return "", err
	}
	if _, known := c.x.Executor(i.actor); known {
		return key, nil
	}
	e := mess.Executor{
		ID: i.actor, Name: i.name, Capabilities: []mess.Capability{}, Versions: []string{"1.0.0", "1.1.0"},
		Extra: mess.Object{{Key: exchange.KindKey, Value: exchange.Person}},
	}
	_, err = c.x.Post(ctx, exchange.Inbound{
		Actor: exchange.Actor{ID: i.actor, Roles: roles}, Channel: channel, Message: mess.Message{Items: []mess.Item{&mess.Config{Executor: &e}}},
	})
	if err != nil {
		_, revoked := c.keys.Revoke(i.actor)
		if revoked != nil {
			c.log.Error("a key that no person has stays valid", "actor", i.actor, "err", revoked)
		}
		return "", err
	}
	c.log.Info("person registered", "executor", i.actor)
	return key, nil
}

// QRCode returns a QR code as rows of text, with # for each dark module.
func QRCode(text string) ([]string, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return nil, err
	}
	rows := make([]string, code.Size)
	for y := range rows {
		row := make([]byte, code.Size)
		for x := range row {
			row[x] = '.'
			if code.Black(x, y) {
				row[x] = '#'
			}
		}
		rows[y] = string(row)
	}
	return rows, nil
}
