package wire_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/channel/mesh/wire"
)

// recorded is a request that another implementation has sent.
type recorded struct {
	Case, What, Method, Path, Body string
}

func vectors(t testing.TB) []recorded {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "mesh-wire.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []recorded
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if len(all) != 36 {
		t.Fatalf("%d recorded requests, want 36", len(all))
	}
	return all
}

// Parse reads the requests of other implementations, and Text writes them unchanged.
func TestRecordedRequests(t *testing.T) {
	envelopes := 0
	for _, r := range vectors(t) {
		if !strings.HasPrefix(r.Path, "/hooks/") {
			continue
		}
		h, err := wire.ParseHook([]byte(r.Body))
		if bad := r.Case == "f05-131k" || r.Case == "f08-badmeta"; bad != (err != nil) {
			t.Errorf("%s: %v", r.Case, err)
		}
		if err != nil {
			continue
		}
		if got := wire.Detect(h.Message); got != (r.Case != "j01-join") {
			t.Errorf("%s: Detect = %t", r.Case, got)
		}
		if !wire.Detect(h.Message) {
			continue
		}
		e, err := wire.Parse(h.Message)
		if err != nil {
			t.Errorf("%s: %v", r.Case, err)
			continue
		}
		envelopes++
		again, err := wire.Parse(e.Text())
		if diff := cmp.Diff(e, again); err != nil || diff != "" && e.Signature == "" {
			t.Errorf("%s: %v %s", r.Case, err, diff)
		}
		if strings.Contains(h.Message, `"nonce"`) && strings.Contains(h.Message, `"ttl"`) && e.Signature == "" && e.Text() != h.Message {
			t.Errorf("%s:\n%s\nwas\n%s", r.Case, e.Text(), h.Message)
		}
		if strings.HasPrefix(r.Case, "s07") && (e.SessionKey() != "agent:main:slack:C1:thread:123" || h.SessionKey != "slack:C1:thread:123" || string(e.ReplyContext) != `{"sessionKey":"agent:main:slack:C1:thread:123","x":1}`) {
			t.Errorf("%s: session %q, %q, context %s", r.Case, e.SessionKey(), h.SessionKey, e.ReplyContext)
		}
	}
	if envelopes < 28 {
		t.Errorf("only %d envelopes among the recorded requests", envelopes)
	}
}

const whole = `{"protocol":"mesh/1.0","id":"msg_1","timestamp":"2026-02-21T20:45:00.000Z","from":"hub","to":"arm_01","type":"request","payload":{"subject":"s","body":"b"}}`

func TestInvalidEnvelopesAreRejected(t *testing.T) {
	for was, becomes := range map[string]string{
		`"mesh/1.0"`: `"mesh/3.0"`, `"msg_1"`: `"../x"`, `"2026-02-21T20:45:00.000Z"`: `"yesterday"`, `"from":"hub"`: `"from":"a/b"`,
		`"to":"arm_01",`: ``, `"type":"request"`: `"type":"order"`, `"body":"b"`: `"text":"b"`, `"subject":"s"`: `"subject":1`,
		`"s","body":"b"`: `"","body":" "`, `"payload":{`: `"payload":[{`, `"id":`: `"ttl":60.5,"id":`, `,"from"`: `,"ttl":"UID[$(touch x)]","from"`,
		`,"to"`: `,"ttl":1e300,"to"`, `,"type"`: `,"ttl":-1,"type"`, `"request",`: `"response",`, `"b"}`: `"b","metadata":[]}`,
		`"s",`: `"s","attachments":[{"type":"url"}],`, `"arm_01",`: `"arm_01","replyTo":"http://x",`, `}}`: `}`,
	} {
		text := strings.Replace(whole, was, becomes, 1)
		e, err := wire.Parse(text)
		bad, ok := errors.AsType[*wire.Error](err)
		if !ok || bad.Text == "" || !cmp.Equal(e, wire.Envelope{}) {
			t.Errorf("%s: %+v, %v", text, e, err)
		}
		if want := map[bool]string{true: "unsupported_protocol", false: "invalid"}[becomes == `"mesh/3.0"`]; ok && bad.Code != want {
			t.Errorf("%s: code %s", text, bad.Code)
		}
	}
}

func TestTTL(t *testing.T) {
	for ttl, want := range map[string]time.Duration{`60`: time.Minute, `"60"`: time.Minute, `60.0`: time.Minute, `"60.0"`: time.Minute, `null`: 5 * time.Minute, `0`: 0, `1e2`: 100 * time.Second} {
		e, err := wire.Parse(strings.Replace(whole, `"type"`, `"ttl":`+ttl+`,"type"`, 1))
		if err != nil || e.TTL != want || !e.Expires().Equal(e.Time.Add(want)) {
			t.Errorf("ttl %s = %v, %v; want %v", ttl, e.TTL, err, want)
		}
	}
}

type crypto struct {
	HMAC struct {
		Key    wire.Key `json:"key_file_text"`
		Plain  string   `json:"unsigned_text"`
		Field  string   `json:"signature_field"`
		Signed string   `json:"signed_text"`
	} `json:"hmac"`
	AES struct {
		Key       wire.Key        `json:"key_file_text"`
		Body      json.RawMessage `json:"body"`
		Plaintext string          `json:"plaintext"`
	} `json:"aes"`
}

func secrets(t testing.TB) (c crypto) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "mesh-crypto.json"))
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil || c.HMAC.Signed == "" || c.AES.Plaintext == "" {
		t.Fatal(err, "no vectors")
	}
	return c
}

func TestSignature(t *testing.T) {
	v := secrets(t).HMAC
	signed, field := v.Key.Sign(v.Plain)
	if field != v.Field || signed != v.Signed {
		t.Errorf("Sign = %s", signed)
	}
	for name, text := range map[string]string{
		"as it was":         v.Signed,
		"a bare signature":  strings.Replace(v.Signed, "sha256:", "", 1),
		"key in lines":      v.Signed,
		"spaces between":    strings.ReplaceAll(v.Signed, `,"ttl":`, ",\n \"ttl\" : "),
		"signature first":   `{"signature":"` + v.Field + `",` + v.Plain[1:],
		"escaped otherwise": strings.ReplaceAll(v.Signed, "ï", `\u00ef`),
		"number otherwise":  strings.Replace(v.Signed, `"f":1,`, `"f":1.0,`, 1),
	} {
		if !v.Key.Verify(text) {
			t.Errorf("%s: not verified", name)
		}
	}
	for name, text := range map[string]string{
		"another body":       strings.Replace(v.Signed, "subject", "subjekt", 1),
		"none":               v.Plain,
		"not the last":       strings.TrimSuffix(v.Signed, "}") + `,"to":"beta"}`,
		"twice, the first":   strings.Replace(v.Signed, `"signature":"`, `"signature":"AAAA","x":"`, 1),
		"a member behind it": strings.TrimSuffix(v.Signed, "}") + `,"signature":"` + v.Field + `"}x`,
		"nothing":            "",
	} {
		if v.Key.Verify(text) {
			t.Errorf("%s: verified", name)
		}
	}
	if wire.Key("").Verify(v.Signed) || (v.Key + "x").Verify(v.Signed) || !wire.Key(" "+v.Key[:9]+"\n"+v.Key[9:]+"\n").Verify(v.Signed) {
		t.Error("the key does not decide")
	}
}

// Our signed text has the form that other implementations compute before they verify it.
func TestSignedTextIsCanonical(t *testing.T) {
	key := secrets(t).HMAC.Key
	e := wire.Envelope{
		ID: "msg_1", Time: time.Unix(0, 0), From: "arm_01", To: "hub", Type: wire.Response, CorrelationID: "msg_0", TTL: time.Minute,
		ReplyContext: json.RawMessage(`{"k":[1,2],"z":null}`),
		Payload:      wire.Payload{Subject: "Ünï <b>& \"q\" \\ \u007f \t \n \u2028 🤖", Body: "/\x01", Metadata: wire.Object{}.With("mess", `{"v":1.50}`)},
	}
	signed, _ := key.Sign(e.Text())
	again := strings.Replace(signed, "{", "{ ", 1) // the end differs from the signed one
	if !key.Verify(signed) || !key.Verify(again) {
		t.Errorf("%s", signed)
	}
}

func TestNumbersKeepTheirText(t *testing.T) {
	key := wire.Key("k")
	for was, printed := range map[string]string{
		"1.0": "1", "1e21": "1e+21", "1e-7": "1e-07", "1e16": "1e+16", "1e15": "1000000000000000", "12345678901234567890": "12345678901234567000",
		"0.0001": "0.0001", "0.00001": "1e-05", "-2.50": "-2.5", "1e400": "1.7976931348623157e+308", "-0": "-0", "123.25": "123.25", "1e100": "1e+100",
	} {
		_, signature := key.Sign(`{"n":` + printed + `}`)
		if !key.Verify(`{"n":` + was + ` ,"signature":"` + signature + `"}`) {
			t.Errorf("%s is not printed as %s", was, printed)
		}
	}
}

func TestEncryption(t *testing.T) {
	v := secrets(t).AES
	if got, err := v.Key.Open(string(v.Body)); got != v.Plaintext || err != nil {
		t.Errorf("Open = %q, %v", got, err)
	}
	iv := [16]byte{0x37, 0x77, 0x7f, 0x19, 0x31, 0xee, 0x7e, 0xe8, 0x9a, 0x34, 0x27, 0x17, 0xdb, 0x8e, 0x15, 0x35}
	var compact bytes.Buffer
	if err := json.Compact(&compact, v.Body); err != nil {
		t.Fatal(err)
	}
	if got, err := v.Key.Seal(v.Plaintext, iv); got != compact.String() || err != nil {
		t.Errorf("Seal = %s, %v", got, err)
	}
	var last error
	for _, bad := range []string{"", "secret message", `{"enc":"aes-256-cbc","iv":"00","data":"AA=="}`, strings.Replace(compact.String(), "BZ", "CZ", 1), strings.Replace(compact.String(), "cbc", "gcm", 1)} {
		got, err := v.Key.Open(bad)
		if err == nil || got != "" || last != nil && err.Error() != last.Error() {
			t.Errorf("Open(%s) = %q, %v", bad, got, err)
		}
		last = err
	}
	if _, err := wire.Key("short").Seal("x", iv); err == nil {
		t.Error("a short key encrypts")
	}
}

// After an error there is no envelope. The text of a parsed envelope parses to the same envelope.
func FuzzParse(f *testing.F) {
	for _, r := range vectors(f) {
		if h, err := wire.ParseHook([]byte(r.Body)); err == nil {
			f.Add(h.Message)
		}
	}
	f.Add(whole)
	f.Add(secrets(f).HMAC.Signed)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := wire.Parse(text)
		if err != nil {
			if !cmp.Equal(e, wire.Envelope{}) {
				t.Fatalf("%v, and %+v", err, e)
			}
			return
		}
		if !wire.Detect(text) {
			t.Fatal("parsed and not detected")
		}
		key := wire.Key("0123456789abcdef0123456789abcdef")
		signed, signature := key.Sign(e.Text())
		again, err := wire.Parse(signed)
		if err != nil || !key.Verify(signed) || again.Signature != signature {
			t.Fatalf("%v\n%s", err, signed)
		}
		again.Signature, again.Protocol, again.Time = e.Signature, e.Protocol, e.Time // a timestamp has milliseconds
		if diff := cmp.Diff(e, again); diff != "" && !strings.Contains(text, "size") {
			t.Fatal(diff)
		}
	})
}

// Parse rejects an envelope if its protocol is no string, and Detect reports that it is no legacy
// text.
func TestProtocolMustBeString(t *testing.T) {
	for _, protocol := range []string{"5", "true", "[]", "{}"} {
		text := strings.Replace(whole, `"mesh/1.0"`, protocol, 1)
		_, err := wire.Parse(text)
		if !wire.Detect(text) || err == nil || !strings.Contains(err.Error(), "protocol: is no text") {
			t.Errorf("%s: %t, %v", protocol, wire.Detect(text), err)
		}
	}
	for _, text := range []string{`{"protocol":null}`, `{"protocol":"http"}`, `{"a":5}`, "the protocol is 5"} {
		if wire.Detect(text) {
			t.Errorf("%s: is words", text)
		}
	}
}

func FuzzHook(f *testing.F) {
	f.Add([]byte(`{"message":"ping","sessionKey":"a"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		h, err := wire.ParseHook(body)
		if err != nil {
			if h != (wire.Hook{}) {
				t.Fatal(h, err)
			}
			return
		}
		if again, err := wire.ParseHook(h.Text()); err != nil || again != h {
			t.Fatalf("%q, %v, was %q", again, err, h)
		}
	})
}

func FuzzOpen(f *testing.F) {
	v := secrets(f).AES
	f.Add(string(v.Body))
	f.Fuzz(func(t *testing.T, text string) {
		if plain, err := v.Key.Open(text); err != nil && plain != "" {
			t.Fatal(plain, err)
		}
		sealed, err := v.Key.Seal(text, [16]byte{1})
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := v.Key.Open(sealed); err != nil || plain != text {
			t.Fatalf("%q, %v", plain, err)
		}
		v.Key.Verify(text)
	})
}
