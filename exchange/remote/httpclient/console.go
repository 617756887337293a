package httpclient

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/messkit/messkit/mess"
)

// Link is a link to a page of the exchange, for a single use.
type Link struct {
	Path  string    `json:"path"`  // to append to the address of the exchange
	Links []string  `json:"links"` // full links, one for each address that a phone may try; none without a known address
	Dots  []string  `json:"dots"`  // the first of them as a QR code, row by row: # is a dark dot
	Until mess.Time `json:"until"`
	// Person says whether a person has made the link, at a terminal of the exchange's machine or on its
	// page. Without one, the browser cannot confirm a plan with risk. nil: the exchange is older.
	Person *bool `json:"person"`
}

// Invitation is what Invite asks for. Only Name is required.
type Invitation struct {
	Name  string    `json:"name"`            // of the person
	Actor string    `json:"actor,omitempty"` // the person's id; "" for one that is made of the name
	At    string    `json:"at,omitempty"`    // the address under which the phone reaches the exchange
	Role  string    `json:"role,omitempty"`  // operator, resident, guest or viewer; "" for a person who does tasks
	Until mess.Time `json:"until,omitempty"` // the end of the access, which a guest needs
	Areas []string  `json:"areas,omitempty"` // of a guest; nil for all
	Entry bool      `json:"entry,omitempty"` // a guest may also use locks, doors and alarms
}

// Invite makes a link that enrolls a person's phone.
func (c *Client) Invite(ctx context.Context, i Invitation) (Link, error) {
	return c.link(ctx, "/console/invite", i)
}

// ConsoleLink makes a link that signs a browser in as this client, with its key.
func (c *Client) ConsoleLink(ctx context.Context, key Secret, at string) (Link, error) {
	return c.link(ctx, "/console/link", map[string]string{"at": at, "key": string(key)})
}

// ConfirmBy returns the way in which a person confirms a plan with risk at this exchange
// (exchange: confirm:).
func (c *Client) ConfirmBy(ctx context.Context) (string, error) {
	var identity struct{ Confirm string }
	err := c.Fetch(ctx, Request{Method: http.MethodGet, URL: c.base + "/console/who"}, &identity)
	return identity.Confirm, err
}

// Release resets the stop of the executor in the exchange's process, with the code from its
// page. anyway also resets the stop if devices may not be in their safe state.
func (c *Client) Release(ctx context.Context, code string, anyway bool) (cleared []string, err error) {
	var out struct{ Cleared []string }
	err = c.postJSON(ctx, "/console/release", map[string]any{"code": code, "anyway": anyway}, &out)
	return out.Cleared, err
}

// ActAgain arms a device or class, or releases its lockout (do), with such a code.
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

// Refusal is an entry of the exchange's access log for rejected requests. Count is the number of
// equal requests.
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

// Refused lists the recently rejected requests, newest first. It requires the role operator.
func (c *Client) Refused(ctx context.Context) ([]Refusal, error) {
	var v struct {
		Refused []Refusal `json:"refused"`
	}
	err := c.Fetch(ctx, Request{Method: http.MethodGet, URL: c.base + "/console/refused"}, &v)
	return v.Refused, err
}
