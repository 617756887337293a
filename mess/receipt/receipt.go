// Package receipt holds the words of a signed receipt: what an executor puts its
// name to at the end of a thread, in a form that is the same for everybody, and
// how it is signed and checked. docs/receipts.md describes it for other readers.
//
// It is pure. It does not know where keys are kept, nor whom to trust.
package receipt

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/messkit/messkit/mess"
)

// Field is the key under which a status bears its receipt.
const Field = "receipt"

// KeyField is the key under which an executor registers its public key.
const KeyField = "receipt_key"

// Version of the form that this package writes and reads.
const Version = 1

// Unsynchronised marks times of a clock that is not known to be set.
const Unsynchronised = "unsynchronised"

// Receipt says who has done what, how that is known, and what was given as the
// result. Times are RFC 3339 in UTC, digests SHA-256 in hex.
type Receipt struct {
	V          int           `json:"v"`
	Thread     string        `json:"thread"`
	Epoch      uint64        `json:"epoch"` // of the claim; 0 for what was declined
	Executor   string        `json:"executor"`
	Status     mess.Code     `json:"status"`
	Plan       string        `json:"plan,omitempty"`       // digest of the plan (action_hash)
	Capability string        `json:"capability,omitempty"` // of the plan
	Evidence   mess.Evidence `json:"evidence,omitempty"`
	Effect     mess.Effect   `json:"effect,omitempty"`  // of what did not complete
	Started    mess.Time     `json:"started,omitempty"` // when the world was first touched or looked at
	Ended      mess.Time     `json:"ended"`             // when the outcome was known
	Clock      string        `json:"clock,omitempty"`   // Unsynchronised, or ""
	Report     string        `json:"report"`            // digest of the status and the response, without their content
	Content    []Content     `json:"content,omitempty"` // of the response, in its order
	Key        string        `json:"key"`               // Ed25519 public key, base64
	Sig        string        `json:"sig,omitempty"`     // Ed25519 signature, base64
}

// Content is one piece of content of the response.
type Content struct {
	Entry  string `json:"entry"`            // digest of the entry as canonical JSON, without the file's name
	SHA256 string `json:"sha256,omitempty"` // of the bytes of its attachment
}

// Object is the receipt as it stands in a message.
func (r Receipt) Object() mess.Object {
	data, err := json.Marshal(r)
	if err != nil {
		panic(err) // there is nothing in it that JSON has no form for
	}
	var o mess.Object
	if err := json.Unmarshal(data, &o); err != nil {
		panic(err)
	}
	return o
}

// Parse reads a receipt as it stands in a message. What it does not know it
// refuses: a signature over what nobody has read is worth nothing.
func Parse(v any) (Receipt, error) {
	o, ok := v.(mess.Object)
	if !ok {
		return Receipt{}, fmt.Errorf("receipt: is no mapping")
	}
	data, err := json.Marshal(o)
	if err != nil {
		return Receipt{}, fmt.Errorf("receipt: %w", err)
	}
	var r Receipt
	if err := json.Unmarshal(data, &r); err != nil {
		return Receipt{}, fmt.Errorf("receipt: %w", err)
	}
	if err := r.valid(data); err != nil {
		return Receipt{}, err
	}
	return r, nil
}

// valid tells the first thing that is wrong with a receipt that was read from
// data.
func (r Receipt) valid(data []byte) error {
	if r.V != Version {
		return fmt.Errorf("receipt.v: is %d; this program reads %d", r.V, Version)
	}
	for _, at := range []struct {
		name  string
		value mess.Time
	}{{"started", r.Started}, {"ended", r.Ended}} {
		if t, err := at.value.Time(); at.value != "" && (err != nil || mess.TimeOf(t.UTC()) != at.value) {
			return fmt.Errorf("receipt.%s: %.60q is no time in UTC", at.name, at.value)
		}
	}
	if _, err := PublicKey(r.Key); err != nil {
		return fmt.Errorf("receipt.key: %w", err)
	}
	was, err := Canonical(data)
	if err != nil {
		return fmt.Errorf("receipt: %w", err)
	}
	is, err := r.canonical()
	if err == nil && !bytes.Equal(was, is) {
		err = fmt.Errorf("receipt: is not written as this program would write it")
	}
	return err
}

func (r Receipt) canonical() ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return Canonical(data)
}

// domain keeps a signature from meaning anything elsewhere.
const domain = "messkit receipt v1\n"

// signed is what the signature is made over.
func (r Receipt) signed() ([]byte, error) {
	r.Sig = ""
	form, err := r.canonical()
	return append([]byte(domain), form...), err
}

// Authentic reports whether the signature is that of the receipt's own key.
// Whose key that is, it does not say.
func (r Receipt) Authentic() bool {
	key, err := PublicKey(r.Key)
	if err != nil {
		return false
	}
	sig, err := exactly(r.Sig, ed25519.SignatureSize)
	if err != nil {
		return false
	}
	text, err := r.signed()
	return err == nil && ed25519.Verify(key, text, sig)
}

// PublicKey reads a public key as receipts and registrations have it.
func PublicKey(s string) (ed25519.PublicKey, error) {
	key, err := exactly(s, ed25519.PublicKeySize)
	return ed25519.PublicKey(key), err
}

// exactly reads base64 of n bytes in its one form.
func exactly(s string, n int) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(data) != n || base64.StdEncoding.EncodeToString(data) != s {
		return nil, fmt.Errorf("%.100q is not %d bytes in base64", s, n)
	}
	return data, nil
}
