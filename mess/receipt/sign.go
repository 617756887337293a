package receipt

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/messkit/messkit/mess"
)

// Signer signs receipts. It stores its key in a form that no print or log can show.
type Signer struct {
	public string
	sign   func(text []byte) []byte
}

// SeedSize is the length of a signer's seed in bytes.
const SeedSize = ed25519.SeedSize

// NewSigner returns a signer with a secret seed.
func NewSigner(seed []byte) (*Signer, error) {
	if len(seed) != SeedSize {
		return nil, fmt.Errorf("the key has %d bytes; it must have %d", len(seed), SeedSize)
	}
	key := ed25519.NewKeyFromSeed(seed)
	return &Signer{
		public: base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey)),
		sign:   func(text []byte) []byte { return ed25519.Sign(key, text) },
	}, nil
}

// Public returns the public key for receipts and registrations.
func (s *Signer) Public() string { return s.public }

// Facts contains the values of a receipt that are not in its message.
type Facts struct {
	Thread     string
	Epoch      uint64
	Executor   string
	Plan       string // digest; "" without a plan
	Capability string
	Started    mess.Time // in UTC; "" if the task did not begin
	Ended      mess.Time // in UTC
	Clock      string    // Unsynchronised, or ""
}

// errNoReport reports a message that ends no thread.
var errNoReport = errors.New("receipt: the message has no status that ends a thread")

// Sign returns m with a receipt in the status that ends its thread.
func (s *Signer) Sign(m mess.Message, f Facts) (mess.Message, error) {
	at, st, re := report(m)
	if st == nil {
		return m, errNoReport
	}
	c := *st
	c.Extra = without(st.Extra, Field)
	r := Receipt{
		V: Version, Thread: f.Thread, Epoch: f.Epoch, Executor: f.Executor, Status: c.Code, Plan: f.Plan, Capability: f.Capability,
		Evidence: c.Evidence, Effect: effectOf(&c), Started: f.Started, Ended: f.Ended, Clock: f.Clock, Key: s.public,
	}
	var err error
	if r.Report, err = reportDigest(&c, re); err != nil {
		return m, err
	}
	if r.Content, err = contents(re); err != nil {
		return m, err
	}
	text, err := r.signed()
	if err != nil {
		return m, err
	}
	r.Sig = base64.StdEncoding.EncodeToString(s.sign(text))
	c.Extra = append(c.Extra, mess.Field{Key: Field, Value: r.Object()})
	m.Items = slices.Clone(m.Items)
	m.Items[at] = &c
	return m, nil
}

// Again signs a message with changed content; the statements about the action remain.
func (s *Signer) Again(m mess.Message) (mess.Message, error) {
	r, _, err := In(m)
	if err != nil {
		return m, err
	}
	return s.Sign(m, Facts{
		Thread: r.Thread, Epoch: r.Epoch, Executor: r.Executor, Plan: r.Plan, Capability: r.Capability,
		Started: r.Started, Ended: r.Ended, Clock: r.Clock,
	})
}

// report returns the status that ends the thread, its index, and the response next to it,
// or nil.
func report(m mess.Message) (at int, s *mess.Status, r *mess.Response) {
	for i, item := range m.Items {
		switch item := item.(type) {
		case *mess.Status:
			if item.Code.Terminal() && s == nil {
				at, s = i, item
			}
		case *mess.Response:
			if r == nil {
				r = item
			}
		}
	}
	return at, s, r
}

// effectOf returns the effect of an incomplete task. A declined request has no effect.
func effectOf(s *mess.Status) mess.Effect {
	switch {
	case s.Code == mess.Declined:
		return mess.EffectNone
	case s.Reason != nil:
		return s.Reason.Effect
	}
	return ""
}

// reportDigest returns the digest of {"response": …, "status": …}: the response without its
// content, which has digests of its own, and the status without the receipt. It omits re,
// because the exchange sets it.
func reportDigest(s *mess.Status, r *mess.Response) (string, error) {
	st := *s
	st.Re, st.Extra = nil, without(s.Extra, Field)
	form := map[string]any{"status": &st}
	if r != nil {
		re := *r
		re.Re, re.Content = nil, nil
		form["response"] = &re
	}
	return digest(form)
}

// contents returns the digests of the content of a response.
func contents(r *mess.Response) ([]Content, error) {
	if r == nil {
		return nil, nil
	}
	var list []Content
	for _, e := range r.Content {
		c, err := content(e)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// content returns the digest of one entry. It omits the name of the file, because the
// exchange sets it.
func content(e mess.Entry) (Content, error) {
	var c Content
	if f, ok := e.Media(); ok && f.File != "" {
		c.SHA256 = f.SHA256
		if o, ok := e.Value.(mess.Object); ok {
			e.Value = without(o, "file")
		}
	}
	var err error
	c.Entry, err = digest(e)
	return c, err
}

func without(o mess.Object, key string) mess.Object {
	return slices.DeleteFunc(slices.Clone(o), func(f mess.Field) bool { return f.Key == key })
}

// digest returns the SHA-256 of a value's canonical JSON in hex.
func digest(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("receipt: %w", err)
	}
	form, err := Canonical(data)
	if err != nil {
		return "", fmt.Errorf("receipt: %w", err)
	}
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:]), nil
}
