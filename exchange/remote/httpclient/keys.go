package httpclient

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/messkit/messkit/mess"
)

// Holder is an actor with a key of an exchange, without the key.
type Holder struct {
	Actor    string     `json:"actor"`
	Roles    []string   `json:"roles"`
	Created  time.Time  `json:"created"`
	OldUntil *time.Time `json:"old_until,omitempty"` // the previous key is valid until then
}

// Keys lists the actors with a key. It requires the role operator, like all functions below.
func (c *Client) Keys(ctx context.Context) ([]Holder, error) {
	var v struct {
		Keys []Holder `json:"keys"`
	}
	err := c.get(ctx, &v, nil, "keys")
	return v.Keys, err
}

// IssueKey makes a key for an actor that has none.
func (c *Client) IssueKey(ctx context.Context, actor string, roles []string) (Secret, error) {
	return c.newKey(ctx, map[string]any{"actor": actor, "roles": roles}, "keys")
}

// RotateKey makes a new key for an actor. The old key stays valid for the overlap.
func (c *Client) RotateKey(ctx context.Context, actor string, overlap time.Duration) (Secret, error) {
	return c.newKey(ctx, map[string]any{"overlap": overlap.String()}, "keys", actor, "rotate")
}

func (c *Client) newKey(ctx context.Context, in any, path ...string) (Secret, error) {
	var v struct {
		Key string `json:"api_key"`
	}
	err := c.post(ctx, in, &v, path...)
	if err == nil && v.Key == "" {
		err = mess.Errorf(mess.Unavailable, "the exchange gave no key")
	}
	return Secret(v.Key), err
}

// RevokeKey revokes all keys of an actor, and ends its sessions.
func (c *Client) RevokeKey(ctx context.Context, actor string) error {
	return c.change(ctx, http.MethodDelete, nil, "keys", actor)
}

// SetRoles gives an actor other roles.
func (c *Client) SetRoles(ctx context.Context, actor string, roles []string) error {
	return c.change(ctx, http.MethodPatch, map[string]any{"roles": roles}, "keys", actor)
}

func (c *Client) change(ctx context.Context, method string, in any, path ...string) error {
	u, err := c.Address(ctx, nil, path...)
	if err != nil {
		return err
	}
	r := Request{Method: method, URL: u}
	if in != nil {
		r.MIME = "application/json"
		if r.Body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	return c.Fetch(ctx, r, &struct{}{})
}

// Code is an enrollment code for a single registration, and the rights that it grants.
type Code struct {
	Code         Secret
	Until        mess.Time
	Roles        []string
	Capabilities []string // that an executor may register; nil: all
}

// NewCode makes an enrollment code that is valid for the given time. actor, if not "", is the id
// that the registration must use. nil roles and capabilities select the defaults of the
// exchange.
func (c *Client) NewCode(ctx context.Context, actor string, within time.Duration, roles, capabilities []string) (Code, error) {
	in := map[string]any{"within": within.String()}
	if actor != "" {
		in["actor"] = actor
	}
	if roles != nil {
		in["roles"] = roles
	}
	if capabilities != nil {
		in["capabilities"] = capabilities
	}
	var v struct {
		Code         string    `json:"enrol"`
		Until        mess.Time `json:"until"`
		Roles        []string  `json:"roles"`
		Capabilities []string  `json:"capabilities"`
	}
	err := c.post(ctx, in, &v, "codes")
	if err == nil && v.Code == "" {
		err = mess.Errorf(mess.Unavailable, "the exchange gave no code")
	}
	return Code{Secret(v.Code), v.Until, v.Roles, v.Capabilities}, err
}
