package httpclient

import (
	"context"
	"net/http"
	"os"
	"strconv"
)

// credentials hold a key in closures, so that no verb of fmt prints it.
type credentials struct {
	sign func(http.Header)
	are  func(Secret) bool
}

func newCredentials(key Secret) *credentials {
	return &credentials{
		sign: func(h http.Header) {
			if key != "" {
				h.Set("Authorization", "Bearer "+string(key))
			}
		},
		are: func(other Secret) bool { return key == other },
	}
}

func (c *Client) credentials() *credentials {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by
}

// renewed rereads the key and reports whether it differs from the rejected one: an operator may
// have rotated it.
func (c *Client) renewed(refused *credentials) bool {
	if c.reread == nil {
		return false
	}
	key, err := c.reread()
	if err != nil {
		c.log.Warn("cannot read the key again", "err", err)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == refused && !c.by.are(key) {
		c.by = newCredentials(key)
		c.log.Info("the key has changed; messkit uses the new one")
	}
	return c.by != refused
}

// terminalHeader is the header with which this process reports that a person has typed the
// message at its terminal. The exchange verifies the process.
const terminalHeader = "Messkit-Terminal"

// modelHeader is the header with which a client reports that it acts for a language model.
const modelHeader = "Messkit-Model"

type typedKey struct{}

// Typed returns a context for a message that a person has typed at the terminal of this process.
func Typed(ctx context.Context) context.Context { return context.WithValue(ctx, typedKey{}, true) }

// person returns the value of terminalHeader for a context. It is "" for a message of a program.
func person(ctx context.Context) string {
	if typed, _ := ctx.Value(typedKey{}).(bool); typed {
		return strconv.Itoa(os.Getpid())
	}
	return ""
}
