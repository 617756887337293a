package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
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

// link is a stored token that works once. It invites a person, or signs in another browser of an
// actor. It has no token: only who got the link can use it. All exchanges with the same store have it.
type link struct {
	Ends   time.Time   `json:"ends"`
	Person bool        `json:"person,omitempty"` // a person made it: at a terminal, or on the page
	Actor  string      `json:"actor,omitempty"`  // the person of an invitation
	Name   string      `json:"name,omitempty"`
	Access keys.Access `json:"access"`
	By     string      `json:"by,omitempty"`     // the actor of a sign-in
	Sealed []byte      `json:"sealed,omitempty"` // the key of that actor, encrypted with a secret of the token
}

func (l link) isInvite() bool { return l.By == "" }

func (l link) isValid() bool { return time.Now().Before(l.Ends) }

// channel returns the name under which the exchange stores a link.
func (l link) channel() string {
	if l.isInvite() {
		return inviteChannel
	}
	return linkChannel
}

// The names under which the exchange stores unused invitations and sign-ins, by the hash of their token.
const (
	inviteChannel = "console-invitations"
	linkChannel   = "console-links"
)

const (
	inviteTime = 24 * time.Hour
	linkTime   = 10 * time.Minute
	maxLinks   = 100 // at a time
	maxOwn     = 8   // sign-ins of one actor: a new one ends the oldest
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
	return c.newLink(ctx, inviteTime, func([32]byte) link {
		return link{Actor: i.actor, Name: i.name, Access: i.access, Person: byPerson && i.access.Role != ""}
	})
}

// links returns the stored links by the hash of their token, expired ones too.
func (c *Console) links() map[string]link {
	all := map[string]link{}
	for _, channel := range []string{inviteChannel, linkChannel} {
		for name, doc := range c.x.ChannelState(channel) {
			if l, ok := parseLink(doc); ok && l.channel() == channel {
				all[name] = l
			}
		}
	}
	return all
}

// parseLink reads a stored link. An unreadable one does not work.
func parseLink(doc []byte) (l link, ok bool) {
	return l, doc != nil && json.Unmarshal(doc, &l) == nil && (l.Actor == "") != (l.By == "")
}

// checkLinks reports the stored invitations that are unreadable.
func (c *Console) checkLinks() {
	for _, doc := range c.x.ChannelState(inviteChannel) {
		if l, ok := parseLink(doc); !ok || !l.isInvite() {
			c.log.Warn("an invitation does not work any more: the stored one is invalid")
		}
	}
}

// newLink stores a link and returns its token. It ends expired links, and the oldest sign-in of an actor
// at the limit.
func (c *Console) newLink(ctx context.Context, within time.Duration, make func(secret [32]byte) link) (token string, ends time.Time, err error) {
	token = rand.Text()
	name, secret := deriveSecret(token)
	l := make(secret)
	l.Ends = time.Now().Add(within)
	c.storing.Lock()
	defer c.storing.Unlock()
	valid, own, expired := 0, []string{}, map[string]map[string][]byte{inviteChannel: {}, linkChannel: {}}
	all := c.links()
	for n, old := range all {
		switch {
		case !old.isValid():
			expired[old.channel()][n] = nil
			continue
		case l.By != "" && old.By == l.By:
			own = append(own, n)
		}
		valid++
	}
	for channel, gone := range expired {
		if err := c.x.SaveChannelStates(ctx, channel, gone); err != nil {
			return "", l.Ends, err
		}
	}
	if len(own) >= maxOwn {
		oldest := slices.MinFunc(own, func(a, b string) int { return all[a].Ends.Compare(all[b].Ends) })
		if err := c.x.SaveChannelState(ctx, linkChannel, oldest, nil); err != nil {
			return "", l.Ends, err
		}
		valid--
	}
	if valid >= maxLinks {
		return "", l.Ends, mess.Errorf(mess.Conflict, "there are %d links already; use one of them, or wait until one expires", maxLinks)
	}
	doc, err := json.Marshal(l)
	if err == nil {
		err = c.x.SaveChannelState(ctx, l.channel(), name, doc)
	}
	if err != nil {
		return "", l.Ends, err
	}
	return token, l.Ends, nil
}

var errUsed = mess.Errorf(mess.Unauthorized, "this link has been used, or its time is over; ask for a new one")

// takeLink removes a link from the store, and returns its document. One caller alone can do that, at
// all exchanges together; the others get errUsed.
func (c *Console) takeLink(ctx context.Context, name string, l link) (doc []byte, err error) {
	err = c.x.ChangeChannelState(ctx, l.channel(), name, func(is []byte) ([]byte, error) {
		if is == nil {
			return nil, errUsed
		}
		doc = is
		return nil, nil
	})
	return doc, err
}

// linkDocument returns the document of a link, nil for none.
func (c *Console) linkDocument(name string) []byte {
	if doc := c.x.ChannelDocument(inviteChannel, name); doc != nil {
		return doc
	}
	return c.x.ChannelDocument(linkChannel, name)
}

// redeemLink uses up a link. It returns the key of the link's actor, and whether a person made
// the link.
func (c *Console) redeemLink(ctx context.Context, token string) (key string, person bool, err error) {
	name, secret := deriveSecret(token)
	l, ok := parseLink(c.linkDocument(name))
	if !ok || !l.isValid() {
		return "", false, errUsed
	}
	doc, err := c.takeLink(ctx, name, l)
	if err != nil {
		return "", false, err
	}
	if !l.isInvite() {
		return cmp.Or(unseal(secret, l.Sealed), "-"), l.Person, nil
	}
	key, err = c.acceptInvite(ctx, invite{l.Actor, l.Name, l.Access})
	if err != nil { // it is unused
		if storing := c.x.SaveChannelState(ctx, inviteChannel, name, doc); storing != nil {
			c.log.Warn("an unused invitation does not work any more; make a new one", "person", l.Actor, "err", storing)
		}
	}
	return key, l.Person, err
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
