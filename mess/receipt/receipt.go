// Package receipt implements signed receipts: the statement that an executor signs at the
// end of a thread, its canonical form, its signature and its verification. docs/reference/receipts.md
// describes it for other implementations.
//
// It is pure. It knows neither key storage nor trust.
package receipt

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/messkit/messkit/mess"
)

// Field is the key of the receipt in a status.
const Field = "receipt"

// KeyField is the key of an executor's public key in its registration.
const KeyField = "receipt_key"

// Version is the version of receipts that this package writes and reads.
const Version = 1

// Unsynchronised marks times of a clock that may be wrong.
const Unsynchronised = "unsynchronised"

// Receipt contains the executor, its actions, the evidence, and digests of the result.
// Times are RFC 3339 in UTC, digests SHA-256 in hex.
type Receipt struct {
	V          int           `json:"v"`
	Thread     string        `json:"thread"`
	Epoch      uint64        `json:"epoch"` // epoch of the claim; 0 for a declined request
	Executor   string        `json:"executor"`
	Status     mess.Code     `json:"status"`
	Plan       string        `json:"plan,omitempty"`       // digest of the plan (action_hash)
	Capability string        `json:"capability,omitempty"` // capability of the plan
	Evidence   mess.Evidence `json:"evidence,omitempty"`
	Effect     mess.Effect   `json:"effect,omitempty"`  // effect of an incomplete task
	Started    mess.Time     `json:"started,omitempty"` // time of the first physical action or observation
	Ended      mess.Time     `json:"ended"`             // time of the known outcome
	Clock      string        `json:"clock,omitempty"`   // Unsynchronised, or ""
	Report     string        `json:"report"`            // digest of the status and the response without its content
	Content    []Content     `json:"content,omitempty"` // content of the response, in order
	Key        string        `json:"key"`               // Ed25519 public key, base64
	Sig        string        `json:"sig,omitempty"`     // Ed25519 signature, base64
}

// Content is one content entry of the response.
type Content struct {
	Entry  string `json:"entry"`            // digest of the entry as canonical JSON, without the name of its file
	SHA256 string `json:"sha256,omitempty"` // digest of the attachment
}

// Object returns the receipt in the form of a message.
func (r Receipt) Object() mess.Object {
	data, err := json.Marshal(r)
	if err != nil {
		panic(err) // cannot fail, because JSON can represent all fields
	}
	var o mess.Object
	if err := json.Unmarshal(data, &o); err != nil {
		panic(err)
	}
	return o
}

// Parse decodes a receipt from a message. It rejects unknown fields, because a signature
// over unread data has no value.
func Parse(v any) (Receipt, error) {
	o, ok := v.(mess.Object)
	if !ok {
		return Receipt{}, fmt.Errorf("receipt: is not a mapping")
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

// valid returns the first error in a receipt that was decoded from data.
func (r Receipt) valid(data []byte) error {
	if r.V != Version {
		return fmt.Errorf("receipt.v: is %d; this program reads %d", r.V, Version)
	}
	for _, at := range []struct {
		name  string
		value mess.Time
	}{{"started", r.Started}, {"ended", r.Ended}} {
		if t, err := at.value.Time(); at.value != "" && (err != nil || mess.TimeOf(t.UTC()) != at.value) {
			return fmt.Errorf("receipt.%s: %.60q is not a time in UTC", at.name, at.value)
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
		err = fmt.Errorf("receipt: is not in canonical form")
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

// domain limits the signature to receipts.
const domain = "messkit receipt v1\n"

// signed returns the signed bytes.
func (r Receipt) signed() ([]byte, error) {
	r.Sig = ""
	form, err := r.canonical()
	return append([]byte(domain), form...), err
}

// Authentic reports whether the signature belongs to the key in the receipt. It does not
// check the owner of the key.
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

// PublicKey decodes a public key from a receipt or registration.
func PublicKey(s string) (ed25519.PublicKey, error) {
	key, err := exactly(s, ed25519.PublicKeySize)
	return ed25519.PublicKey(key), err
}

// exactly decodes n bytes in canonical base64.
func exactly(s string, n int) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(data) != n || base64.StdEncoding.EncodeToString(data) != s {
		return nil, fmt.Errorf("%.100q is not %d bytes in base64", s, n)
	}
	return data, nil
}
