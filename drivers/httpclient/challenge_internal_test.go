package httpclient

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDigestOfRFC7616 checks the example in §3.9.1.
func TestDigestOfRFC7616(t *testing.T) {
	const (
		nonce  = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
		cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
	)
	a := Account{User: "Mufasa", Password: "Circle of Life"}
	for alg, want := range map[string]string{
		"MD5":     "8ca523f5e9506fed4657c9700eebdbec",
		"SHA-256": "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
	} {
		cs, err := parseChallenges(fmt.Sprintf(`Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=%s, nonce=%q, opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`, alg, nonce))
		if err != nil || len(cs) != 1 {
			t.Fatal(cs, err)
		}
		got := a.Answer(http.MethodGet, cs[0], "/dir/index.html", cnonce)
		if !strings.Contains(got, fmt.Sprintf("response=%q", want)) {
			t.Errorf("%s: %s", alg, got)
		}
	}
}

// Session variant of RFC 7616 §3.4.2, computed with Python's hashlib.
func TestDigestWithSession(t *testing.T) {
	c := Challenge{scheme: "digest", params: map[string]string{"realm": "r", "nonce": "n", "qop": "auth", "algorithm": "SHA-256-sess"}}
	const want = `Digest username="u", realm="r", nonce="n", uri="/", algorithm=SHA-256-sess, qop=auth, nc=00000001, cnonce="c", response="ea348c3992b38a8ab656b8bcd3589ab596820515773c2a4605013c6216e0f070"`
	if got := (Account{User: "u", Password: "p"}).Answer(http.MethodGet, c, "/", "c"); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestParseChallenges(t *testing.T) {
	p := func(kv ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	for _, tt := range []struct {
		in   string
		want []Challenge // nil for an error
	}{
		{`Basic realm="a, b"`, []Challenge{{"basic", "", p("realm", "a, b")}}},
		{`Basic`, []Challenge{{"basic", "", p()}}},
		{` , Negotiate , NTLM TlRM== , Basic REALM = x ,`, []Challenge{{"negotiate", "", p()}, {"ntlm", "TlRM==", p()}, {"basic", "", p("realm", "x")}}},
		{`Digest realm="a\"b\\", nonce=a/b+c==, qop="auth", Basic realm=""`, []Challenge{
			{"digest", "", p("realm", `a"b\`, "nonce", "a/b+c==", "qop", "auth")}, {"basic", "", p("realm", "")},
		}},
		{`Basic realm="a`, nil},
		{`Basic realm="a", realm="b"`, nil},
		{`Basic realm=a"b`, nil},
		{`="x"`, nil},
		{"Basic realm=\"a\nb\"", nil},
	} {
		got, err := parseChallenges(tt.in)
		if (err != nil) != (tt.want == nil) || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("parseChallenges(%q) = %+v, %v", tt.in, got, err)
		}
	}
}

func FuzzChallenges(f *testing.F) {
	for _, s := range []string{
		`Basic realm="x"`, `Digest realm="a\"b", nonce=n/+==, qop="auth,auth-int", algorithm=MD5, Basic realm=y`,
		`NTLM TlRM==, Negotiate`, `Basic realm="`, `a=b`, `,,,`, "x y=\"\\", "Basic é=\"é\"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parseChallenges(s)
		if err != nil {
			if got != nil {
				t.Errorf("%+v beside %v", got, err)
			}
			return
		}
		var lines []string
		for _, c := range got {
			lines = append(lines, c.String())
			if c.rank() > 0 {
				(Account{User: "u", Password: "p"}).Answer(http.MethodGet, c, "/", "c")
			}
		}
		again, err := parseChallenges(strings.Join(lines, ", "))
		if diff := cmp.Diff(got, again, cmp.AllowUnexported(Challenge{})); err != nil || diff != "" {
			t.Errorf("%q printed as %q: %v\n%s", s, lines, err, diff)
		}
	})
}
