package httpclient

import "net/http"

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
