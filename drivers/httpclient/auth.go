package httpclient

import (
	"crypto/md5" // RFC 7616 §3.2: what nearly every device speaks
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/drivers"
)

// Account is a user with a password.
type Account struct {
	User     string
	Password drivers.Secret
}

// Answer returns the Authorization header for the challenge c and a request of uri with
// method. nonce is the nonce of the client.
func (a Account) Answer(method string, c Challenge, uri, nonce string) string {
	if c.scheme == "basic" {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(a.User+":"+string(a.Password)))
	}
	return a.digest(method, c, uri, nonce)
}

// digest implements RFC 7616 §3.4, and RFC 2069 if the device does not send qop.
func (a Account) digest(method string, c Challenge, uri, cnonce string) string {
	const count = "00000001" // each server nonce is used once
	name, sess := strings.CutSuffix(c.algorithm(), "-SESS")
	hash := hashes[name]
	realm, nonce := c.params["realm"], c.params["nonce"]
	secret := hash(a.User + ":" + realm + ":" + string(a.Password))
	if sess {
		secret = hash(secret + ":" + nonce + ":" + cnonce)
	}
	what := hash(method + ":" + uri)
	fields := []string{
		"username=" + quoted(a.User), "realm=" + quoted(realm), "nonce=" + quoted(nonce), "uri=" + quoted(uri),
	}
	if alg, ok := c.params["algorithm"]; ok {
		fields = append(fields, "algorithm="+alg)
	}
	if _, ok := c.params["qop"]; ok {
		fields = append(fields, "qop=auth", "nc="+count, "cnonce="+quoted(cnonce),
			"response="+quoted(hash(secret+":"+nonce+":"+count+":"+cnonce+":auth:"+what)))
	} else {
		fields = append(fields, "response="+quoted(hash(secret+":"+nonce+":"+what)))
		if sess {
			fields = append(fields, "cnonce="+quoted(cnonce))
		}
	}
	if opaque, ok := c.params["opaque"]; ok {
		fields = append(fields, "opaque="+quoted(opaque))
	}
	return "Digest " + strings.Join(fields, ", ")
}

// hashes maps the name of an algorithm in upper case, without -SESS, to its hash.
var hashes = map[string]func(string) string{
	"MD5":     func(s string) string { h := md5.Sum([]byte(s)); return hex.EncodeToString(h[:]) },
	"SHA-256": func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) },
}

// algorithm returns the name in upper case; the default is MD5 (RFC 7616 §3.3).
func (c Challenge) algorithm() string {
	if alg, ok := c.params["algorithm"]; ok {
		return strings.ToUpper(alg)
	}
	return "MD5"
}

// rank orders challenges by their security; 0 means unsupported.
func (c Challenge) rank() int {
	if c.scheme == "basic" {
		return 1
	}
	name, _ := strings.CutSuffix(c.algorithm(), "-SESS")
	qop, hasQop := c.params["qop"]
	switch {
	case c.scheme != "digest", hashes[name] == nil, c.params["nonce"] == "":
		return 0
	case hasQop && !slices.ContainsFunc(strings.Split(qop, ","), isAuth):
		return 0 // only auth-int
	case name == "MD5":
		return 2
	}
	return 3
}

func isAuth(qop string) bool { return strings.EqualFold(strings.TrimSpace(qop), "auth") }

// Stale reports that the password was right and only the nonce has expired.
func (c Challenge) Stale() bool { return strings.EqualFold(c.params["stale"], "true") }

// ChooseChallenge returns the most secure of the challenges in WWW-Authenticate headers. It
// ignores invalid headers.
func ChooseChallenge(headers []string) (Challenge, error) {
	var best Challenge
	var seen []string
	for _, h := range headers {
		offers, err := parseChallenges(h)
		if err != nil {
			seen = append(seen, err.Error())
			continue
		}
		for _, c := range offers {
			seen = append(seen, c.scheme)
			if c.rank() > best.rank() {
				best = c
			}
		}
	}
	if len(headers) == 0 {
		return Challenge{}, errors.New("the device requires a login and names no method; allow Basic or Digest (MD5, SHA-256) on the device")
	}
	if best.rank() == 0 {
		return Challenge{}, fmt.Errorf("the device requires an unsupported login method (%s); allow Basic or Digest (MD5, SHA-256) on the device", strings.Join(seen, ", "))
	}
	return best, nil
}
