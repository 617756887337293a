package httpapi

import (
	"net/http"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/mess"
)

// shownOnce is the message with every new key.
const shownOnce = "Keep this key; the exchange shows it only once."

func (c *call) listKeys() error {
	c.writeJSON(http.StatusOK, map[string]any{"keys": c.keys.List()})
	return nil
}

// readOperatorOrder reads the body of an operator's order. An empty body is {}.
func (c *call) readOperatorOrder(known ...string) (mess.Object, error) {
	body, err := c.readObject()
	if err != nil {
		return nil, err
	}
	return body, checkKnown(body, known...)
}

// issueKey makes a key: {actor, roles}.
func (c *call) issueKey() error {
	body, err := c.readOperatorOrder("actor", "roles")
	if err != nil {
		return err
	}
	actor, err := textField(body, "actor")
	if err != nil {
		return err
	}
	if actor == "" {
		return mess.Errorf(mess.Invalid, "actor required")
	}
	roles, err := parseRoles(body)
	if err != nil {
		return err
	}
	if roles&exchange.Operator != 0 {
		if err := c.requireTerminal(); err != nil {
			return err
		}
	}
	key, err := c.keys.Issue(actor, roles)
	if err != nil {
		return err
	}
	c.log().Info("key issued", "actor", actor, "by", c.actor.ID)
	c.writeJSON(http.StatusCreated, map[string]any{"actor": actor, "api_key": key, "message": shownOnce})
	return nil
}

// rotateKey makes a new key: {overlap: how long the old key stays valid}.
func (c *call) rotateKey(actor string) error {
	body, err := c.readOperatorOrder("overlap")
	if err != nil {
		return err
	}
	overlap, err := parseDuration(body, "overlap", 0)
	if err != nil {
		return err
	}
	if c.isOperator(actor) {
		if err := c.requireTerminal(); err != nil {
			return err
		}
	}
	key, err := c.keys.Renew(actor, overlap)
	if err != nil {
		return err
	}
	c.log().Info("key rotated", "actor", actor, "by", c.actor.ID, "overlap", overlap)
	c.writeJSON(http.StatusCreated, map[string]any{"actor": actor, "api_key": key, "message": shownOnce})
	return nil
}

// setRoles changes the roles of an actor: {roles}.
func (c *call) setRoles(actor string) error {
	body, err := c.readOperatorOrder("roles")
	if err != nil {
		return err
	}
	roles, err := parseRoles(body)
	if err != nil {
		return err
	}
	if roles&exchange.Operator != 0 && !c.isOperator(actor) {
		if err := c.requireTerminal(); err != nil {
			return err
		}
	}
	if err := c.keys.SetRoles(actor, roles); err != nil {
		return err
	}
	c.log().Info("roles changed", "actor", actor, "by", c.actor.ID, "roles", keys.Names(roles))
	c.writeJSON(http.StatusOK, map[string]any{"actor": actor, "updated": true})
	return nil
}

func (c *call) revokeKey(actor string) error {
	was, err := c.keys.Revoke(actor)
	if err != nil {
		return err
	}
	if !was {
		return mess.Errorf(mess.NotFound, "%.60q has no key here; messkit keys list shows all keys", actor)
	}
	c.log().Info("key revoked", "actor", actor, "by", c.actor.ID)
	c.writeJSON(http.StatusOK, map[string]any{"actor": actor, "revoked": true})
	return nil
}

// newEnrollmentCode makes an enrollment code: {actor, within, roles, capabilities}, all
// optional. The response lists the granted rights.
func (c *call) newEnrollmentCode() error {
	body, err := c.readOperatorOrder("actor", "within", "roles", "capabilities")
	if err != nil {
		return err
	}
	within, err := parseDuration(body, "within", 15*time.Minute)
	if err != nil {
		return err
	}
	actor := ""
	if v, given := body.Get("actor"); given {
		text, ok := v.(string)
		if !ok || text == "" {
			return mess.Errorf(mess.Invalid, "actor: is no name; write text, or leave it out for a code that is good for any name")
		}
		actor = text
	}
	g, err := parseGrant(body)
	if err != nil {
		return err
	}
	code, g, ends, err := c.keys.NewCodeFor(actor, g, within)
	if err != nil {
		return err
	}
	c.log().Info("enrollment code made", "actor", actor, "by", c.actor.ID, "until", ends, "roles", keys.Names(g.Roles), "capabilities", g.Capabilities)
	v := map[string]any{"enrol": code, "until": formatTime(ends), "roles": keys.Names(g.Roles)}
	if g.Capabilities != nil {
		v["capabilities"] = g.Capabilities
	}
	c.writeJSON(http.StatusCreated, v)
	return nil
}

// parseGrant reads the rights of an enrollment code.
func parseGrant(body mess.Object) (g keys.Grant, err error) {
	if _, given := body.Get("roles"); given {
		if g.Roles, err = parseRoles(body); err != nil {
			return g, err
		}
	}
	v, given := body.Get("capabilities")
	if !given {
		return g, nil
	}
	g.Capabilities, err = textList(v, "capabilities", "write the names of capabilities, or leave it out for all")
	return g, err
}

// parseRoles reads the roles of a body.
func parseRoles(body mess.Object) (exchange.Role, error) {
	v, _ := body.Get("roles")
	names, err := textList(v, "roles", "write some of requester, executor, observer, operator")
	if err != nil {
		return 0, err
	}
	return keys.Roles(names)
}

// textList returns a value as a list of texts. An error names the field and adds the remedy.
func textList(v any, field, remedy string) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, mess.Errorf(mess.Invalid, "%s: is not a list; %s", field, remedy)
	}
	texts := make([]string, len(list))
	for i, one := range list {
		if texts[i], ok = one.(string); !ok {
			return nil, mess.Errorf(mess.Invalid, "%s: an entry is not text; %s", field, remedy)
		}
	}
	return texts, nil
}

// parseDuration reads a duration such as 15m.
func parseDuration(body mess.Object, key string, otherwise time.Duration) (time.Duration, error) {
	v, _ := body.Get(key)
	if v == nil {
		return otherwise, nil
	}
	text, _ := v.(string)
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, mess.Errorf(mess.Invalid, "%s: is not a length of time; write it like 15m", key)
	}
	return d, nil
}
