package keys

import (
	"crypto/rand"
	"encoding/base32"
	"maps"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
)

// MaxCodeTime is how long an enrolment code may be good.
const MaxCodeTime = 24 * time.Hour

// maxCodes is how many codes there may be at a time.
const maxCodes = 100

// code is an enrolment code that has not been used.
type code struct {
	actor string // who alone may use it; "": anybody
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
	switch {
	case actor != "" && !mess.ValidID(actor):
		return "", ends, mess.Refuse(mess.Invalid, "%.60q cannot be an actor; use letters, digits and . _ : @ -, at most 128", actor)
	case d < time.Second || d > MaxCodeTime:
		return "", ends, mess.Refuse(mess.Invalid, "within: %v is not between 1s and %v", d, MaxCodeTime)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(k.codes, func(_ string, c code) bool { return !now.Before(c.ends) })
	if len(k.codes) >= maxCodes {
		return "", ends, mess.Refuse(mess.Conflict, "there are %d enrolment codes already; use them, or wait until they end", maxCodes)
	}
	var random [7]byte
	_, _ = rand.Read(random[:]) // never fails
	plain := spelling.EncodeToString(random[:])[:10]
	ends = now.Add(d)
	k.codes[hash(plain)] = code{actor, ends}
	return plain[:5] + "-" + plain[5:], ends, nil
}

// Redeem uses up a code for an actor and reports whether it was good. back makes
// it good again, for whom the registration then fails.
func (k *Keys) Redeem(text, actor string) (back func(), ok bool) {
	sum := hash(plainCode(text))
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok := k.codes[sum]
	if !ok || !time.Now().Before(c.ends) || c.actor != "" && c.actor != actor {
		return nil, false
	}
	delete(k.codes, sum)
	return func() {
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
