package console

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/internal/ascii"
	"github.com/messkit/messkit/mess"
)

// pathSession is the path that signs a browser in (POST) and out (DELETE).
const pathSession = "/console/session"

// session is a signed-in browser as the exchange stores it. The console encrypts its key with a
// secret that only the cookie has. The session ends with the key.
type session struct {
	Actor   string    `json:"actor"`
	Sealed  []byte    `json:"sealed"`
	Created time.Time `json:"created"`
	Person  bool      `json:"person,omitempty"`  // a person signed it in: from a terminal, or from a page with this mark
	Link    bool      `json:"link,omitempty"`    // a link signed it in, not a key
	Browser string    `json:"browser,omitempty"` // its name, such as Firefox on Android
	Used    time.Time `json:"used,omitzero"`     // a day of its use; Console.used has the exact time

	Push *subscription `json:"push,omitempty"` // nil: it takes no push messages
}

const (
	sessionTime = 180 * 24 * time.Hour
	maxSessions = 16 // per actor: a new session ends the oldest
)

// deriveSecret returns the name under which the exchange stores an id, and the secret of the
// id.
func deriveSecret(id string) (name string, secret [32]byte) {
	secret = sha256.Sum256([]byte("messkit console secret " + id))
	sum := sha256.Sum256([]byte("messkit console name " + id))
	return hex.EncodeToString(sum[:]), secret
}

func sealer(secret [32]byte) cipher.AEAD {
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		panic(err) // 32 bytes are a valid key
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return seal
}

func seal(secret [32]byte, key string) []byte { return sealer(secret).Seal(nil, nil, []byte(key), nil) }

// unseal returns "" for a text that the secret does not open.
func unseal(secret [32]byte, sealed []byte) string {
	key, _ := sealer(secret).Open(nil, nil, sealed, nil)
	return string(key)
}

// readSessions reads the stored sessions, and follows those of other exchanges with the same store.
func (c *Console) readSessions() {
	c.x.FollowChannelState(channel, func(name string, _ []byte) { c.refreshSession(name) })
	for name := range c.x.ChannelState(channel) {
		c.refreshSession(name)
	}
}

// refreshSession puts the stored state of a session in force. A session that is not there ends.
func (c *Console) refreshSession(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.parseSession(c.x.ChannelDocument(channel, name)); ok {
		c.setSession(name, &s)
	} else {
		c.forget(name)
	}
}

// parseSession reads a stored session. An unreadable one is not in force.
func (c *Console) parseSession(doc []byte) (s session, ok bool) {
	if doc == nil {
		return s, false
	}
	if err := json.Unmarshal(doc, &s); err != nil {
		c.log.Warn("a browser has to sign in again: its stored session is invalid", "err", err)
		return session{}, false
	}
	return s, true
}

// SessionKey returns the key with which a browser has signed in, or "".
func (c *Console) SessionKey(r *http.Request) string {
	s, secret, ok := c.sessionOf(r)
	if !ok {
		return ""
	}
	return unseal(secret, s.Sealed)
}

// SignedInByPerson reports whether a person signed a browser in, with a link from a terminal or
// from the page of a person. A program that only holds a key has no such link.
func (c *Console) SignedInByPerson(r *http.Request) bool {
	s, _, ok := c.sessionOf(r)
	return ok && s.Person
}

// signedInByLink reports whether a link signed a browser in, not a key.
func (c *Console) signedInByLink(r *http.Request) bool {
	s, _, ok := c.sessionOf(r)
	return ok && s.Link
}

// sessionOf returns the session of a browser and the secret that decrypts its key.
func (c *Console) sessionOf(r *http.Request) (s session, secret [32]byte, ok bool) {
	cookie, err := r.Cookie(cookieName(r))
	if err != nil || len(cookie.Value) > 64 {
		return s, secret, false
	}
	name, secret := deriveSecret(cookie.Value)
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok = c.sessions[name]
	if !ok || time.Since(s.Created) > sessionTime {
		return s, secret, false
	}
	c.used[name] = time.Now()
	return s, secret, true
}

// cookieName contains the port, because browsers send the cookies of a host to all of its
// ports. So two exchanges on one host do not take each other's cookies.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil || !ascii.Digits(port, 1, len(port)) {
		port = "web"
	}
	return "messkit-" + port
}

// serveSession signs a browser in or out.
func (c *Console) serveSession(w http.ResponseWriter, r *http.Request) {
	var err error
	switch {
	case !isOwnPage(r):
		err = mess.Errorf(mess.Forbidden, "only a page of this exchange may sign in or out")
	case r.Method == http.MethodPost:
		err = c.signIn(w, r)
	case r.Method == http.MethodDelete:
		err = c.signOut(w, r)
	default:
		w.Header().Set("Allow", "POST, DELETE")
		writeJSON(w, http.StatusMethodNotAllowed, map[string]string{"error": "sign in with POST, out with DELETE"})
	}
	if err != nil {
		writeRejection(w, err)
	}
}

// isOwnPage reports whether a page of this exchange has sent the request. Another page could
// sign a person in as another actor.
func isOwnPage(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin":
		return true
	case "":
		origin := r.Header.Get("Origin")
		return origin == "http://"+r.Host || origin == "https://"+r.Host
	}
	return false
}

// maxSignIn is the limit of the body of a sign-in, in bytes.
const maxSignIn = 16 << 10

// signIn takes {key}, or {link} of an invitation or of another browser.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Key  string `json:"key"`
		Link string `json:"link"`
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxSignIn)
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || (in.Key == "") == (in.Link == "") {
		return mess.Errorf(mess.Invalid, "sign in with {\"key\": …} or {\"link\": …}")
	}
	key, person := in.Key, false
	if in.Link != "" {
		var err error
		if key, person, err = c.redeemLink(r.Context(), in.Link); err != nil {
			return c.countFailure(w, err)
		}
	}
	actor, err := c.keys.Authenticate(key)
	if err != nil {
		return c.countFailure(w, err)
	}
	id := rand.Text()
	name, secret := deriveSecret(id)
	if old := c.sessionName(r); old != "" { // this browser has another user now
		if err := c.updateSession(r.Context(), old, func(s *session) { s.Push = nil }); err != nil {
			return err
		}
	}
	if err := c.storeSession(r.Context(), name, session{Actor: actor.ID, Sealed: seal(secret, key), Created: time.Now().UTC(), Person: person, Link: in.Link != "", Browser: browserName(r.UserAgent())}); err != nil {
		return err
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: id, Path: "/", MaxAge: int(sessionTime.Seconds()), HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: c.secure(r),
	})
	c.log.Info("browser signed in", "actor", actor.ID)
	writeJSON(w, http.StatusOK, identityOf(c.x.ID(), actor))
	return nil
}

// secure reports whether the browser speaks TLS with the exchange or with a proxy. If so, the
// cookie must never travel in plain text.
func (c *Console) secure(r *http.Request) bool {
	return c.cfg.Secure || r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://")
}

// countFailure answers a failed sign-in and limits the rate of such answers. A valid key or
// link always works: keys and links are too long to guess, and no client can lock out others
// with failed attempts.
func (c *Console) countFailure(w http.ResponseWriter, err error) error {
	if c.tries.Allow() {
		return err
	}
	w.Header().Set("Retry-After", "2")
	writeJSON(w, http.StatusTooManyRequests, map[string]string{"error": "too many have tried to sign in; try again in 2 s"})
	return nil
}

// storeSession stores a session. It ends the oldest sessions of the same actor beyond the
// limit, and all expired ones.
func (c *Console) storeSession(ctx context.Context, name string, s session) error {
	doc, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := c.x.SaveChannelState(ctx, channel, name, doc); err != nil {
		return err
	}
	c.refreshSession(name)
	c.mu.Lock()
	var own, over []string
	for n, s2 := range c.sessions {
		switch {
		case time.Since(s2.Created) > sessionTime:
			over = append(over, n)
		case s2.Actor == s.Actor:
			own = append(own, n)
		}
	}
	slices.SortFunc(own, func(a, b string) int { return c.sessions[a].Created.Compare(c.sessions[b].Created) })
	over = append(over, own[:max(0, len(own)-maxSessions)]...)
	c.mu.Unlock()
	return c.endSessions(ctx, over)
}

// endSessions ends sessions here at once, and then in the store, so that they end at all exchanges.
func (c *Console) endSessions(ctx context.Context, names []string) error {
	c.mu.Lock()
	for _, name := range names {
		c.forget(name)
	}
	c.mu.Unlock()
	var err error
	for _, name := range names {
		if failed := c.x.SaveChannelState(ctx, channel, name, nil); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		c.refreshSession(name) // another exchange can have changed it meanwhile
	}
	return err
}

func (c *Console) signOut(w http.ResponseWriter, r *http.Request) error {
	if name := c.sessionName(r); name != "" {
		if err := c.endSessions(r.Context(), []string{name}); err != nil {
			return err
		}
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: c.secure(r)})
	writeJSON(w, http.StatusOK, map[string]bool{"signed_out": true})
	return nil
}
