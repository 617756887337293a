package receipt_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

// vector is one case of testdata: a message of a thread, and whether it agrees with its
// receipt.
type vector struct {
	About   string            `json:"about"`
	Seed    []byte            `json:"seed"`
	Public  string            `json:"public"`
	Held    bool              `json:"held"`
	Message json.RawMessage   `json:"message"`
	Files   map[string][]byte `json:"files"`
}

func vectors(t testing.TB) map[string]vector {
	t.Helper()
	names, err := filepath.Glob("testdata/*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("no vectors in testdata: %v", err)
	}
	all := map[string]vector{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var v vector
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var short bytes.Buffer
		if err := json.Compact(&short, v.Message); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		v.Message = short.Bytes()
		all[filepath.Base(name)] = v
	}
	return all
}

func (v vector) open(name string) ([]byte, error) {
	if data, ok := v.Files[name]; ok {
		return data, nil
	}
	return nil, fmt.Errorf("no file %q", name)
}

func (v vector) signer(t testing.TB) *receipt.Signer {
	t.Helper()
	s, err := receipt.NewSigner(v.Seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// held returns the result of package receipt for a message.
func (v vector) held(message []byte) bool {
	m, err := mess.Parse(message)
	if err != nil {
		return false
	}
	r, _, err := receipt.In(m)
	return err == nil && len(receipt.Check(m, r, v.open)) == 0
}

func TestVectors(t *testing.T) {
	for name, v := range vectors(t) {
		t.Run(name, func(t *testing.T) {
			if got := v.held(v.Message); got != v.Held {
				t.Errorf("held: %v, want %v", got, v.Held)
			}
			if got := heldByOther(v.Message, v.Files); got != v.Held {
				t.Errorf("held, by the second reader: %v, want %v", got, v.Held)
			}
			if got := v.signer(t).Public(); got != v.Public {
				t.Errorf("public key %s, want %s", got, v.Public)
			}
		})
	}
}

// The receipt remains valid after YAML and JSON, without re, and with another file name.
func TestReceiptStaysValidInTransit(t *testing.T) {
	for name, v := range vectors(t) {
		if !v.Held {
			continue
		}
		m, err := mess.Parse(v.Message)
		if err != nil {
			t.Fatal(err)
		}
		text, err := m.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if m, err = mess.Parse(text); err != nil {
			t.Fatal(err)
		}
		r, s, err := receipt.In(m)
		s.Re = mess.Refs{"elsewhere"}
		if wrong := receipt.Check(m, r, v.open); err != nil || len(wrong) > 0 {
			t.Errorf("%s: %v %v", name, err, wrong)
		}
	}
}

// Each signed byte counts: after one flipped bit in it, or with MESSKIT_FLIPS=all each of
// the eight, the check fails, or the message is the same for a reader without this package.
func TestFlippedBitIsDetected(t *testing.T) {
	bits := 1
	if os.Getenv("MESSKIT_FLIPS") == "all" {
		bits = 8
	}
	for name, v := range vectors(t) {
		if !v.Held {
			continue
		}
		flipped := 0
		for i := range v.Message {
			for b := range bits {
				mask := byte(1) << ((i + b) % 8)
				data := bytes.Clone(v.Message)
				data[i] ^= mask
				if v.held(data) && !heldByOther(asJSON(t, data), v.Files) {
					t.Errorf("%s: byte %d ^ %#x is not noticed: …%s…", name, i, mask, data[max(0, i-20):min(len(data), i+20)])
				}
				flipped++
			}
		}
		if flipped < 500 {
			t.Errorf("%s: only %d bytes were flipped", name, flipped)
		}
	}
}

// asJSON returns data as JSON, converted from YAML if necessary.
func asJSON(t *testing.T, data []byte) []byte {
	t.Helper()
	if json.Valid(data) {
		return data
	}
	m, err := mess.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(text(t, m))
}

func TestSigning(t *testing.T) {
	v := vectors(t)["picture.json"]
	s := v.signer(t)
	m, err := mess.Parse(v.Message)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Again(m)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := text(t, m), text(t, again); a != b {
		t.Errorf("signed again it is\n%s\nwant\n%s", b, a)
	}
	re := *m.Items[1].(*mess.Response)
	re.Content, re.Notes = re.Content[:1], "The exchange has not taken the pictures."
	m.Items[1] = &re
	if m, err = s.Again(m); err != nil {
		t.Fatal(err)
	}
	r, _, err := receipt.In(m)
	if wrong := receipt.Check(m, r, v.open); err != nil || len(wrong) > 0 || r.Plan == "" {
		t.Errorf("without its picture: %v %v %+v", err, wrong, r)
	}
	_, err = s.Sign(mess.Message{Items: []mess.Item{&mess.Status{Code: mess.InProgress}}}, receipt.Facts{})
	if err == nil {
		t.Error("a message that ends nothing was signed")
	}
	plain := mess.Message{Items: []mess.Item{&mess.Status{Code: mess.Completed}}}
	if _, _, err := receipt.In(plain); !errors.Is(err, receipt.ErrNone) {
		t.Errorf("a report without a receipt: %v, want ErrNone", err)
	}
}

func text(t *testing.T, m mess.Message) string {
	t.Helper()
	data, err := m.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSignerHidesItsKey(t *testing.T) {
	for _, v := range vectors(t) {
		s := v.signer(t)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
			text := fmt.Sprintf(verb, struct {
				S *receipt.Signer
				V receipt.Signer
			}{s, *s})
			if strings.Contains(text, fmt.Sprint(v.Seed)[1:20]) || strings.Contains(text, fmt.Sprintf("%x", v.Seed)) {
				t.Errorf("%s shows the key: %s", verb, text)
			}
		}
	}
	if _, err := receipt.NewSigner(make([]byte, 31)); err == nil {
		t.Error("a seed of 31 bytes was taken")
	}
}

// Two laws: an error means no usable receipt, and a parsed receipt prints as before.
func FuzzParse(f *testing.F) {
	for _, v := range vectors(f) {
		m, err := mess.Parse(v.Message)
		if err != nil {
			f.Fatal(err)
		}
		for _, item := range m.Items {
			if s, ok := item.(*mess.Status); ok {
				r, _ := s.Extra.Get(receipt.Field)
				data, err := json.Marshal(r)
				if err != nil {
					f.Fatal(err)
				}
				f.Add(data)
			}
		}
	}
	f.Add([]byte(`{"V":1,"thread":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := mess.ParseObject(data)
		if err != nil {
			return
		}
		r, err := receipt.Parse(o)
		if err != nil {
			return
		}
		r.Authentic() // must not panic
		was, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		is, err := json.Marshal(r.Object())
		if err != nil {
			t.Fatal(err)
		}
		a, errA := receipt.Canonical(was)
		b, errB := receipt.Canonical(is)
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Fatalf("%s was read as %s (%v %v)", a, b, errA, errB)
		}
	})
}

// A signature and a key have one form, while base64 has several for the same bytes.
func TestBase64HasOneForm(t *testing.T) {
	v := vectors(t)["picture.json"]
	m, err := mess.Parse(v.Message)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := receipt.In(m)
	if err != nil || !r.Authentic() {
		t.Fatal(err)
	}
	last := len(r.Sig) - 3 // four of its bits belong to no byte
	other := r
	other.Sig = r.Sig[:last] + string(r.Sig[last]+1) + r.Sig[last+1:]
	if other.Authentic() {
		t.Errorf("%s counts as %s", other.Sig, r.Sig)
	}
	if other.Sig = r.Sig[:10] + "\n" + r.Sig[10:]; other.Authentic() {
		t.Error("a signature with a line break counts")
	}
	for _, key := range []string{r.Key + "\n", r.Key[:len(r.Key)-1], strings.Replace(r.Key, "+", "-", 1) + "="} {
		if _, err := receipt.PublicKey(key); err == nil {
			t.Errorf("the key %q counts", key)
		}
	}
}

// Parse rejects a receipt that this program would not write, even with a valid signature.
func TestParseRejectsForeignReceipts(t *testing.T) {
	const key = `key: "xc3tBbVKfzdPiwGkF3CFsw/Pgkb0G52LEjmIQyphbFA="`
	const good = `{v: 1, thread: T, epoch: 1, executor: pi, status: failed, ended: "2026-11-21T09:45:00Z", report: "", ` + key + `}`
	for _, c := range []struct{ name, was, is, want string }{
		{"good", "", "", ""},
		{"a newer form", "v: 1", "v: 2", "receipt.v: is 2; this program reads 1"},
		{"no version", "v: 1, ", "", "receipt.v: is 0"},
		{"a field more", "epoch: 1", "epoch: 1, mood: good", "is not in canonical form"},
		{"another spelling", "thread: T", "Thread: T", "is not in canonical form"},
		{"an empty field", "epoch: 1", `epoch: 1, plan: ""`, "is not in canonical form"},
		{"another type", "epoch: 1", "epoch: one", "receipt: "},
		{"half an epoch", "epoch: 1", "epoch: 1.5", "receipt: "},
		{"a time elsewhere", "09:45:00Z", "10:45:00+01:00", "receipt.ended: "},
		{"no time", "2026-11-21T09:45:00Z", "noon", "receipt.ended: "},
		{"no key", key, "key: none", `receipt.key: "none" is not 32 bytes`},
	} {
		o, err := mess.ParseObject([]byte(strings.Replace(good, c.was, c.is, 1)))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		r, err := receipt.Parse(o)
		if c.want == "" {
			if err != nil || r.Thread != "T" {
				t.Errorf("%s: %+v, %v", c.name, r, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || r.V != 0 || r.Thread != "" {
			t.Errorf("%s: %+v, %v; want nothing and %q", c.name, r, err, c.want)
		}
	}
	if _, err := receipt.Parse("a text"); err == nil {
		t.Error("a text was read as a receipt")
	}
}
