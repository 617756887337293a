package httpclient

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/messkit/messkit/mess"
)

// Link is a link to a page of the exchange, good once.
type Link struct {
	Path  string    `json:"path"`  // to put behind the address of the exchange
	Links []string  `json:"links"` // whole, at each address that a phone may try; none if none is known
	Dots  []string  `json:"dots"`  // the first of them as a QR code, row by row: # is a dark dot
	Until mess.Time `json:"until"`
}

// Invite makes a link with which a person's phone takes part. actor, if not "", is
// her id, and at the address under which the phone reaches the exchange.
func (c *Client) Invite(ctx context.Context, name, actor, at string) (Link, error) {
	return c.link(ctx, "/console/invite", map[string]string{"name": name, "actor": actor, "at": at})
}

// ConsoleLink makes a link that signs a browser in as this client, which has the
// key.
func (c *Client) ConsoleLink(ctx context.Context, key Secret, at string) (Link, error) {
	return c.link(ctx, "/console/link", map[string]string{"at": at, "key": string(key)})
}

// ConfirmBy is how a person confirms a plan with risk there (exchange: confirm:).
func (c *Client) ConfirmBy(ctx context.Context) (string, error) {
	var who struct{ Confirm string }
	err := c.Fetch(ctx, Request{Method: http.MethodGet, URL: c.base + "/console/who"}, &who)
	return who.Confirm, err
}

// Release ends the stop of the executor in the exchange's program, with the code that
// its page has shown. anyway is for devices that are not known to be safe.
func (c *Client) Release(ctx context.Context, code string, anyway bool) (cleared []string, err error) {
	var out struct{ Cleared []string }
	err = c.postJSON(ctx, "/console/release", map[string]any{"code": code, "anyway": anyway}, &out)
	return out.Cleared, err
}

// ActAgain arms or unlocks (do) a device or a class there, with such a code.
func (c *Client) ActAgain(ctx context.Context, code, do, what string) error {
	var out struct{ Done bool }
	return c.postJSON(ctx, "/console/arm", map[string]string{"code": code, "do": do, "what": what}, &out)
}

func (c *Client) link(ctx context.Context, path string, in any) (Link, error) {
	var l Link
	err := c.postJSON(ctx, path, in, &l)
	return l, err
}

func (c *Client) postJSON(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return c.Fetch(ctx, Request{Method: http.MethodPost, URL: c.base + path, MIME: "application/json", Body: body}, out)
}

// Refusal is what the door of the exchange has refused, as often as it was alike.
type Refusal struct {
	First   time.Time `json:"first"`
	At      time.Time `json:"at"`
	Count   int       `json:"count"`
	Code    int       `json:"code"`
	Method  string    `json:"method"`
	Path    string    `json:"path"`
	Various bool      `json:"various,omitempty"`
	Actor   string    `json:"actor,omitempty"`
	From    string    `json:"from"`
	Error   string    `json:"error"`
}

// Refused lists what the door has refused lately, the newest first. It is for
// operators.
func (c *Client) Refused(ctx context.Context) ([]Refusal, error) {
	var v struct {
		Refused []Refusal `json:"refused"`
	}
	err := c.Fetch(ctx, Request{Method: http.MethodGet, URL: c.base + "/console/refused"}, &v)
	return v.Refused, err
}
