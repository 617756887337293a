package httpcam

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDigestOfRFC7616 is its §3.9.1.
func TestDigestOfRFC7616(t *testing.T) {
	const (
		nonce  = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
		cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
	)
	a := account{user: "Mufasa", password: "Circle of Life"}
	for alg, want := range map[string]string{
		"MD5":     "8ca523f5e9506fed4657c9700eebdbec",
		"SHA-256": "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
	} {
		cs, err := parseChallenges(fmt.Sprintf(`Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=%s, nonce=%q, opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`, alg, nonce))
		if err != nil || len(cs) != 1 {
			t.Fatal(cs, err)
		}
		got := a.answer(cs[0], "/dir/index.html", cnonce)
		if !strings.Contains(got, fmt.Sprintf("response=%q", want)) {
			t.Errorf("%s: %s", alg, got)
		}
	}
}

// The session variant of RFC 7616 §3.4.2, computed with Python's hashlib.
func TestDigestOfASession(t *testing.T) {
	c := challenge{scheme: "digest", params: map[string]string{"realm": "r", "nonce": "n", "qop": "auth", "algorithm": "SHA-256-sess"}}
	const want = `Digest username="u", realm="r", nonce="n", uri="/", algorithm=SHA-256-sess, qop=auth, nc=00000001, cnonce="c", response="ea348c3992b38a8ab656b8bcd3589ab596820515773c2a4605013c6216e0f070"`
	if got := (account{user: "u", password: "p"}).answer(c, "/", "c"); got != want {
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
		want []challenge // nil: an error
	}{
		{`Basic realm="a, b"`, []challenge{{"basic", "", p("realm", "a, b")}}},
		{`Basic`, []challenge{{"basic", "", p()}}},
		{` , Negotiate , NTLM TlRM== , Basic REALM = x ,`, []challenge{{"negotiate", "", p()}, {"ntlm", "TlRM==", p()}, {"basic", "", p("realm", "x")}}},
		{`Digest realm="a\"b\\", nonce=a/b+c==, qop="auth", Basic realm=""`, []challenge{
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
				(account{user: "u", password: "p"}).answer(c, "/", "c")
			}
		}
		again, err := parseChallenges(strings.Join(lines, ", "))
		if diff := cmp.Diff(got, again, cmp.AllowUnexported(challenge{})); err != nil || diff != "" {
			t.Errorf("%q printed as %q: %v\n%s", s, lines, err, diff)
		}
	})
}

func seeds(tb testing.TB) (j, p []byte) {
	tb.Helper()
	img := image.NewGray(image.Rect(0, 0, 8, 8))
	var a, b bytes.Buffer
	if err := errors.Join(jpeg.Encode(&a, img, nil), png.Encode(&b, img)); err != nil {
		tb.Fatal(err)
	}
	return a.Bytes(), b.Bytes()
}

const fuzzLimit = 4 << 10

// checkWhole holds a picture to what readPicture promises: bounded, and itself
// when read again.
func checkWhole(t *testing.T, p picture) {
	t.Helper()
	if len(p.data) > fuzzLimit {
		t.Errorf("%d bytes", len(p.data))
	}
	again, err := readPicture(bufio.NewReader(bytes.NewReader(p.data)), fuzzLimit)
	if err != nil || !bytes.Equal(again.data, p.data) || again.mime != p.mime {
		t.Errorf("read again: %d of %d bytes, %v", len(again.data), len(p.data), err)
	}
}

func FuzzPicture(f *testing.F) {
	j, p := seeds(f)
	for _, data := range [][]byte{j, p, append(bytes.Clone(j), 0, 0), j[:len(j)-2], p[:40], []byte("\xff\xd8\xff\xda\x00\x02\xff\xff\xd9"), nil} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		got, err := readPicture(bufio.NewReader(r), fuzzLimit)
		if err != nil {
			if got.data != nil || got.mime != "" {
				t.Errorf("%+v beside %v", got, err)
			}
			return
		}
		if !bytes.HasPrefix(data, got.data) {
			t.Error("the picture is not what the data begins with")
		}
		checkWhole(t, got)
	})
}

func FuzzFrames(f *testing.F) {
	j, p := seeds(f)
	part := func(head string, data []byte) string { return "--b\r\n" + head + "\r\n\r\n" + string(data) + "\r\n" }
	length := fmt.Sprintf("Content-Length: %d", len(j))
	for _, kind := range []string{"multipart/x-mixed-replace; boundary=b", "", `multipart/x; BOUNDARY="--b"; x`} {
		f.Add(kind, []byte(part(length, j)+part("", p)+part("Content-Length: 3", j)+"--b--"))
		f.Add(kind, []byte(part("X: y", j[:30])+part(length, j)))
		f.Add(kind, []byte("--\r\n\r\n"+string(j)+"--\r\n\r\n"+string(j)))
	}
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		fr := newFrames(bufio.NewReaderSize(bytes.NewReader(data), lineBytes), kind, fuzzLimit)
		for n := 0; ; n++ {
			if n > len(data) {
				t.Fatal("more frames than bytes")
			}
			got, h, err := fr.next()
			if _, again := errors.AsType[*brokenError](err); err != nil && (got.data != nil || h != part0) {
				t.Errorf("%+v %+v beside %v", got, h, err)
			} else if err != nil && !again {
				return
			}
			if err == nil {
				checkWhole(t, got)
			}
		}
	})
}

var part0 part
