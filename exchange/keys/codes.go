package keys

import (
	"crypto/rand"
	"encoding/base32"
	"maps"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// MaxCodeTime limits the lifetime of an enrollment code.
const MaxCodeTime = 24 * time.Hour

// maxCodes limits the number of valid codes.
const maxCodes = 100

// Grant has the rights of an actor that enrolls with a code.
type Grant struct {
	Roles exchange.Role
	// Capabilities has those that an executor may register; nil for all.
	Capabilities []string
}

// everything is the grant of an executor that an operator has named.
var everything = Grant{Roles: exchange.Requester | exchange.ExecutorRole}

// defaultGrant returns the grant of a code without roles. An unnamed actor may make requests, but
// gets no offers of the requests of others.
func defaultGrant(actor string) Grant {
	if actor == "" {
		return Grant{Roles: exchange.Requester}
	}
	return everything
}

// check returns an error for a grant that a code cannot have.
func (g Grant) check() error {
	if g.Roles == 0 || g.Roles&^everything.Roles != 0 {
		return mess.Errorf(mess.Invalid, "roles: a code grants requester and executor; issue a key for the others")
	}
	if g.Capabilities != nil && g.Roles&exchange.ExecutorRole == 0 {
		return mess.Errorf(mess.Invalid, "capabilities: are for an executor; write the role executor as well, or leave them out")
	}
	if g.Capabilities != nil && len(g.Capabilities) == 0 {
		return mess.Errorf(mess.Invalid, "capabilities: the list is empty; name some, or leave it out for all")
	}
	for _, id := range g.Capabilities {
		if !mess.ValidID(id) {
			return mess.Errorf(mess.Invalid, "capabilities: %.60q cannot name a capability; use letters, digits and . _ : @ -", id)
		}
	}
	return nil
}

// code is an unused enrollment code.
type code struct {
	actor string // the only actor that may use it; "" for any
	grant Grant
	ends  time.Time
}

// codes has the codes by their hash. They are only in memory, so a restart drops them.
type codes map[string]code

func newCodes() codes { return codes{} }

// spelling is Crockford's base 32, in which no two letters look alike.
var spelling = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// NewCode makes a code with which one executor or agent may enroll, once, within d. If actor is not
// "", the name must be that. A code has 50 bits. At the rate at which a channel accepts guesses,
// one in 10^11 succeeds within a day.
func (k *Keys) NewCode(actor string, d time.Duration) (text string, ends time.Time, err error) {
	text, _, ends, err = k.NewCodeFor(actor, Grant{}, d)
	return text, ends, err
}

// NewCodeFor makes a code with a grant, and returns the grant that it has. Without roles, a named
// actor gets all roles of an executor, and any other the role requester.
func (k *Keys) NewCodeFor(actor string, g Grant, d time.Duration) (text string, _ Grant, ends time.Time, err error) {
	if g.Roles == 0 && g.Capabilities != nil {
		g.Roles = everything.Roles
	} else if g.Roles == 0 {
		g = defaultGrant(actor)
	}
	if err := g.check(); err != nil {
		return "", g, ends, err
	}
	switch {
	case actor != "" && !mess.ValidID(actor):
		return "", g, ends, mess.Errorf(mess.Invalid, "%.60q cannot be an actor; use letters, digits and . _ : @ -, at most 128", actor)
	case d < time.Second || d > MaxCodeTime:
		return "", g, ends, mess.Errorf(mess.Invalid, "within: %v is not between 1s and %v", d, MaxCodeTime)
	}
	if k.docs != nil {
		return k.newSharedCode(code{actor, g, time.Now().Add(d)})
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(k.codes, func(_ string, c code) bool { return !now.Before(c.ends) })
	if len(k.codes) >= maxCodes {
		return "", g, ends, tooManyCodes()
	}
	plain := newPlainCode()
	ends = now.Add(d)
	k.codes[hash(plain)] = code{actor, g, ends}
	return plain[:5] + "-" + plain[5:], g, ends, nil
}

func tooManyCodes() error {
	return mess.Errorf(mess.Conflict, "there are %d enrollment codes already; use them, or wait until they end", maxCodes)
}

func newPlainCode() string {
	var random [7]byte
	_, _ = rand.Read(random[:]) // never fails
	return spelling.EncodeToString(random[:])[:10]
}

// Redeem uses a code up for an actor, and returns its grant. For a wrong or expired code, ok is
// false. If the enrollment fails later, the caller calls back, which makes the code valid again.
func (k *Keys) Redeem(text, actor string) (g Grant, back func(), ok bool) {
	sum := hash(plainCode(text))
	if k.docs != nil {
		return k.redeemShared(sum, actor)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok := k.codes[sum]
	if !ok || !time.Now().Before(c.ends) || c.actor != "" && c.actor != actor {
		return Grant{}, nil, false
	}
	delete(k.codes, sum)
	return c.grant, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.codes[sum] = c
	}, true
}

// misread replaces letters that people mistake for others, and separators.
var misread = strings.NewReplacer("O", "0", "I", "1", "L", "1", "-", "", " ", "")

// plainCode returns a code in its canonical form. A text that is too long returns "".
func plainCode(text string) string {
	return misread.Replace(strings.ToUpper(text[:min(len(text), maxKey)]))
}
