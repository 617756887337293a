package console

import (
	"cmp"
	"context"
	"encoding/json"
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
func (c *Console) newInvite(ctx context.Context, i invite, byPerson bool) (token string, ends time.Time, err error) {
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
	if err := c.dropInvites(ctx, func(_ string, l link) bool { return time.Now().After(l.ends) }); err != nil {
		return "", ends, err
	}
	token, ends, err = c.newLink(inviteTime, func([32]byte) link { return link{invite: &i, person: byPerson && i.access.Role != ""} })
	if err != nil {
		return "", ends, err
	}
	stored, _ := deriveSecret(token)
	if err := c.storeInvite(ctx, stored); err != nil {
		c.mu.Lock()
		delete(c.links, stored)
		c.mu.Unlock()
		return "", ends, err
	}
	return token, ends, nil
}

// inviteChannel is the name under which the exchange stores unused invitations, by the hash of their
// token.
const inviteChannel = "console-invitations"

// inviteDoc is a stored invitation. It has no token: only who got the link can use it.
type inviteDoc struct {
	Actor  string      `json:"actor"`
	Name   string      `json:"name"`
	Ends   time.Time   `json:"ends"`
	Person bool        `json:"person,omitempty"` // a person made it
	Access keys.Access `json:"access"`
}

// readInvites reads the stored invitations.
func (c *Console) readInvites() {
	for name, data := range c.x.ChannelState(inviteChannel) {
		var d inviteDoc
		if err := json.Unmarshal(data, &d); err != nil || d.Actor == "" {
			c.log.Warn("an invitation does not work any more: the stored one is invalid", "err", err)
			continue
		}
		c.links[name] = link{ends: d.Ends, person: d.Person, invite: &invite{d.Actor, d.Name, d.Access}}
	}
}

// storeInvite stores an unused invitation.
func (c *Console) storeInvite(ctx context.Context, name string) error {
	c.storing.Lock()
	defer c.storing.Unlock()
	c.mu.Lock()
	l, ok := c.links[name]
	c.mu.Unlock()
	if !ok {
		return nil // it has been used or withdrawn meanwhile
	}
	doc, err := json.Marshal(inviteDoc{l.invite.actor, l.invite.name, l.ends, l.person, l.invite.access})
	if err != nil {
		return err
	}
	return c.x.SaveChannelState(ctx, inviteChannel, name, doc)
}

// dropInvites ends the invitations that which selects. One that the store keeps stays.
func (c *Console) dropInvites(ctx context.Context, which func(name string, l link) bool) error {
	c.storing.Lock()
	defer c.storing.Unlock()
	c.mu.Lock()
	gone := map[string][]byte{}
	for name, l := range c.links {
		if l.invite != nil && which(name, l) {
			gone[name] = nil
		}
	}
	c.mu.Unlock()
	if len(gone) == 0 {
		return nil
	}
	if err := c.x.SaveChannelStates(ctx, inviteChannel, gone); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range gone {
		delete(c.links, name)
	}
	return nil
}

// redeemInvite uses up an invitation, which nobody else can use meanwhile. It ends in the store first:
// after a crash it does not work twice.
func (c *Console) redeemInvite(ctx context.Context, name string, l link) (key string, err error) {
	if err = c.x.SaveChannelState(ctx, inviteChannel, name, nil); err == nil {
		key, err = c.acceptInvite(ctx, *l.invite)
	}
	if err == nil {
		return key, nil
	}
	c.mu.Lock()
	c.links[name] = l // it is unused
	c.mu.Unlock()
	if storing := c.storeInvite(ctx, name); storing != nil {
		c.log.Warn("an unused invitation ends with the next restart", "person", l.invite.actor, "err", storing)
	}
	return "", err
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
