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

// MaxCodeTime is how long an enrolment code may be good.
const MaxCodeTime = 24 * time.Hour

// maxCodes is how many codes there may be at a time.
const maxCodes = 100

// Grant is what a code gives to whoever registers with it.
type Grant struct {
	Roles exchange.Role
	// Capabilities are those that an executor may register; nil: all.
	Capabilities []string
}

// everything is the grant of an executor that an operator has named.
var everything = Grant{Roles: exchange.Requester | exchange.ExecutorRole}

// usual is the grant of a code that says none: who is not named may ask, and is
// offered nothing that others have asked for.
func usual(actor string) Grant {
	if actor == "" {
		return Grant{Roles: exchange.Requester}
	}
	return everything
}

// check tells what a code cannot grant.
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

// code is an enrolment code that has not been used.
type code struct {
	actor string // who alone may use it; "": anybody
	grant Grant
	ends  time.Time
}

// codes are by the hash of the code. They are in memory alone: an exchange that
// starts anew has none.
type codes map[string]code

func newCodes() codes { return codes{} }

// spelling is Crockford's: no letter of it is taken for another one.
var spelling = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// NewCode makes a code with which one executor or agent elsewhere may register,
// once and within d; actor, if not "", is the name that it must have. It has 50
// bits: at the rate at which a door takes guesses, a day is enough for one in
// 10^11 of them.
func (k *Keys) NewCode(actor string, d time.Duration) (text string, ends time.Time, err error) {
	text, _, ends, err = k.NewCodeFor(actor, Grant{}, d)
	return text, ends, err
}

// NewCodeFor makes a code with a grant, and returns the grant that it has. One
// without roles is the usual one: for who is named all that an executor may do, else
// the role requester.
func (k *Keys) NewCodeFor(actor string, g Grant, d time.Duration) (text string, _ Grant, ends time.Time, err error) {
	if g.Roles == 0 && g.Capabilities != nil {
		g.Roles = everything.Roles
	} else if g.Roles == 0 {
		g = usual(actor)
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
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(k.codes, func(_ string, c code) bool { return !now.Before(c.ends) })
	if len(k.codes) >= maxCodes {
		return "", g, ends, mess.Errorf(mess.Conflict, "there are %d enrolment codes already; use them, or wait until they end", maxCodes)
	}
	var random [7]byte
	_, _ = rand.Read(random[:]) // never fails
	plain := spelling.EncodeToString(random[:])[:10]
	ends = now.Add(d)
	k.codes[hash(plain)] = code{actor, g, ends}
	return plain[:5] + "-" + plain[5:], g, ends, nil
}

// Redeem uses up a code for an actor, and returns what it grants and whether it was
// good. back makes it good again, for whom the registration then fails.
func (k *Keys) Redeem(text, actor string) (g Grant, back func(), ok bool) {
	sum := hash(plainCode(text))
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

// misread are letters that a person types for others, and what stands between.
var misread = strings.NewReplacer("O", "0", "I", "1", "L", "1", "-", "", " ", "")

// plainCode is a code as it was meant. What is too long is none.
func plainCode(text string) string {
	return misread.Replace(strings.ToUpper(text[:min(len(text), maxKey)]))
}
