package httpcam_test

import (
	"crypto/md5"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/messkit/messkit/drivers/httpcam"
)

const (
	user     = "jörg"
	password = `open "sesame"\`
	realm    = `a "cam"`
)

func account(c *httpcam.Config) { c.Username, c.Password = user, password }

func sum(h hash.Hash, s string) string {
	_, _ = h.Write([]byte(s)) // a write to a Hash cannot fail
	return fmt.Sprintf("%x", h.Sum(nil))
}

var field = regexp.MustCompile(`(\w+)=("(?:[^"\\]|\\.)*"|[^,]*)`)

// fields parses an Authorization header like a camera.
func fields(header string) map[string]string {
	m := map[string]string{}
	for _, f := range field.FindAllStringSubmatch(header, -1) {
		v := strings.TrimSuffix(strings.TrimPrefix(f[2], `"`), `"`)
		m[f[1]] = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(v)
	}
	return m
}

// digests reports whether r has the right answer to a challenge with nonce.
func digests(r *http.Request, hash func() hash.Hash, nonce string, qop bool) bool {
	f := fields(r.Header.Get("Authorization"))
	ha1 := sum(hash(), user+":"+realm+":"+password)
	ha2 := sum(hash(), "GET:"+r.RequestURI)
	want := sum(hash(), ha1+":"+nonce+":"+ha2)
	if qop {
		want = sum(hash(), strings.Join([]string{ha1, nonce, f["nc"], f["cnonce"], f["qop"], ha2}, ":"))
	}
	return f["response"] == want && f["username"] == user && f["uri"] == r.RequestURI && f["opaque"] == "o"
}

func TestLogin(t *testing.T) {
	pic := jpegOf(t, 1, 8, 8)
	basic := func(r *http.Request) bool {
		u, p, ok := r.BasicAuth()
		return ok && u == user && p == password
	}
	digest := func(h func() hash.Hash, qop bool) func(*http.Request) bool {
		return func(r *http.Request) bool { return digests(r, h, "n", qop) }
	}
	const common = `Digest realm="a \"cam\"", nonce="n", opaque="o"`
	for _, tt := range []struct {
		name   string
		offers []string
		ok     func(*http.Request) bool
	}{
		{"basic", []string{`Basic realm="cam", charset="UTF-8"`}, basic},
		{"digest of RFC 2069", []string{common}, digest(md5.New, false)},
		{"digest md5", []string{common + `, qop="auth,auth-int", algorithm=MD5`}, digest(md5.New, true)},
		{"no quotes", []string{`Digest realm="a \"cam\"",nonce=n,opaque=o,qop=auth,algorithm="md5",`}, digest(md5.New, true)},
		{"sha-256 before md5 and basic", []string{`Basic realm="x"`, common + `, qop=auth`, common + `, qop=auth, algorithm=SHA-256`}, digest(sha256.New, true)},
		{"in one header", []string{`Basic realm="x", ` + common + `, qop="auth", algorithm=SHA-256, NTLM`}, digest(sha256.New, true)},
		{"basic beside the unknown", []string{common + `, algorithm=SHA-512-256`, "NTLM TlRMTVNTUA==", `Basic realm="x"`}, basic},
		{"a broken offer beside", []string{`Digest realm="`, `Basic realm="x"`}, basic},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := handle(t, func(w http.ResponseWriter, r *http.Request) {
				if !tt.ok(r) {
					w.Header()["Www-Authenticate"] = tt.offers
					w.WriteHeader(401)
					return
				}
				_, _ = w.Write(pic)
			})
			if _, err := camera(t, s.URL+"/a b?c=d%20e", account).Photo(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestStaleNonceIsRenewedOnce(t *testing.T) {
	asked := 0
	s := handle(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		if asked == 3 && digests(r, md5.New, "n2", true) {
			_, _ = w.Write(jpegOf(t, 1, 8, 8))
			return
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Digest realm="a \"cam\"", nonce="n%d", opaque="o", qop="auth", stale=TRUE`, asked))
		w.WriteHeader(401)
	})
	if _, err := camera(t, s.URL, account).Photo(t.Context()); err != nil {
		t.Error(err)
	}
	asked = 10 // never accepts the nonce
	if _, err := camera(t, s.URL, account).Photo(t.Context()); err == nil || asked != 13 {
		t.Errorf("%d requests, %v", asked-10, err)
	}
}

func TestUnsupportedLogin(t *testing.T) {
	for want, offers := range map[string][]string{
		"the device requires an unsupported login method (ntlm, digest); allow Basic or Digest (MD5, SHA-256) on the device":                    {`NTLM, Digest realm=x, nonce=y, qop="auth-int"`},
		"the device requires a login and names no method; allow Basic or Digest (MD5, SHA-256) on the device":                                   nil,
		"the device requires an unsupported login method (invalid WWW-Authenticate header); allow Basic or Digest (MD5, SHA-256) on the device": {`Digest "`},
	} {
		s := handle(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Www-Authenticate"] = offers
			w.WriteHeader(401)
		})
		if got := photoError(t, camera(t, s.URL, account), s.URL); got != "door-cam: "+want {
			t.Errorf("\n got %s\nwant door-cam: %s", got, want)
		}
	}
}

// guarded serves an image for any Authorization, and counts them.
func guarded(t *testing.T, logins *atomic.Int32) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(401)
			return
		}
		logins.Add(1)
		_, _ = w.Write(jpegOf(t, 1, 8, 8))
	}
}

func TestRedirectWithinTheCamera(t *testing.T) {
	var logins atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/pic", guarded(t, &logins))
	mux.Handle("/", http.RedirectHandler("/pic", http.StatusFound))
	s := handle(t, mux.ServeHTTP)
	if _, err := camera(t, s.URL, account).Photo(t.Context()); err != nil || logins.Load() != 1 {
		t.Errorf("%d log-ins, %v", logins.Load(), err)
	}
}

// secure serves handle with an untrusted certificate.
func secure(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // otherwise it logs each disconnect
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func TestPasswordStaysWithItsOrigin(t *testing.T) {
	var logins atomic.Int32
	other := handle(t, guarded(t, &logins))
	tls := secure(t, guarded(t, &logins))
	named := strings.Replace(other.URL, "http://", "http://eve:evil@", 1)
	for _, to := range []string{other.URL + "/x?secret=1", named, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), tls.URL} {
		s := handle(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "" {
				w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
				w.WriteHeader(401)
				return
			}
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		})
		got := photoError(t, camera(t, s.URL, account), s.URL)
		if to != tls.URL && !strings.HasSuffix(got, "answers 401; this server is not the server of url, and does not get the password; if it is yours, set url to it") {
			t.Error(got)
		}
		for _, secret := range []string{user, "sesame", "eve", "evil", "secret"} {
			if strings.Contains(got, secret) {
				t.Errorf("%q holds %q", got, secret)
			}
		}
	}
	if n := logins.Load(); n != 0 {
		t.Errorf("another origin received the password %d times, want 0", n)
	}
}

func TestInvalidRedirects(t *testing.T) {
	for to, want := range map[string]string{
		"/round?secret=1":        "door-cam: http://HOST/round: more than 5 redirects; set url to their target",
		"ftp://127.0.0.1/secret": "door-cam: http://HOST/: redirects to an address that is neither http nor https; set url to the image itself",
		"http://%zz/secret":      "door-cam: http://HOST/: redirects to an address that is neither http nor https; set url to the image itself",
		"":                       "door-cam: http://HOST/: redirects to an address that is neither http nor https; set url to the image itself",
	} {
		s := handle(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusMovedPermanently)
		})
		if got := photoError(t, camera(t, s.URL+"/", nil), s.URL); got != want {
			t.Errorf("%q:\n got %s\nwant %s", to, got, want)
		}
	}
}

func TestUntrustedCertificate(t *testing.T) {
	s := secure(t, http.NotFound)
	_, err := camera(t, s.URL, nil).Photo(t.Context())
	want := "; add the certificate of " + strings.TrimPrefix(s.URL, "https://") + " to the trusted certificates of this host, or use http in your own network"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Error(err)
	}
}
