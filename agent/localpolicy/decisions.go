package localpolicy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// decision holds the reason and the time of a decision.
type decision struct {
	Reason string    `json:"why,omitempty"`
	At     time.Time `json:"at"`
}

// decisions are the contents of the file.
type decisions struct {
	Devices []string                       `json:"devices,omitempty"` // at the last start
	Locked  map[string]decision            `json:"locked,omitempty"`
	Classes map[capabilities.Risk]decision `json:"disarmed,omitempty"`
	Unarmed map[string]decision            `json:"disarmed_devices,omitempty"`
	Armed   []string                       `json:"armed_devices,omitempty"` // although their class is disarmed
}

// header is the file's first line, before the SHA-256 of the rest in hex.
const header = "messkit decisions 1 "

// print encodes the file: a line with a checksum, and JSON.
func (d decisions) print() []byte {
	body, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		panic(err) // all its fields have a form in JSON
	}
	body = append(body, '\n')
	return append([]byte(header+sum(body)+"\n"), body...)
}

func sum(body []byte) string {
	s := sha256.Sum256(body)
	return hex.EncodeToString(s[:])
}

// parse decodes the result of print, and nothing else.
func parse(data []byte) (decisions, error) {
	rest, ok := bytes.CutPrefix(data, []byte(header))
	check, body, whole := bytes.Cut(rest, []byte("\n"))
	if !ok || !whole || sum(body) != string(check) {
		return decisions{}, errors.New("its checksum is wrong: it has damage, or a person has edited it")
	}
	var d decisions
	if err := decodeStrict(body, &d); err != nil {
		return decisions{}, err
	}
	if err := d.validate(); err != nil {
		return decisions{}, err
	}
	return d, nil
}

// decodeStrict decodes JSON with known fields and no trailing data.
func decodeStrict(data []byte, out any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(out); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after its end")
	}
	return nil
}

func (d decisions) validate() error {
	for class := range d.Classes {
		if !class.Known() {
			return fmt.Errorf("disarmed: unknown class %q", class)
		}
	}
	for _, names := range []map[string]decision{d.Locked, d.Unarmed} {
		for name := range names {
			if !mess.ValidID(name) {
				return fmt.Errorf("%q names no device", name)
			}
		}
	}
	return nil
}

// disarm adds classes. It also disarms devices that a person has armed by name, because that
// person's check is older.
func (d *decisions) disarm(order decision, classes []capabilities.Risk) {
	for _, c := range classes {
		d.Classes = set(d.Classes, c, order)
	}
	if len(classes) > 0 {
		d.Armed = nil
	}
}

// policyForm converts d to the form of package policy.
func (d decisions) policyForm() policy.LocalDecisions {
	l := policy.LocalDecisions{ArmedDevices: map[string]bool{}, LockedOut: reasons(d.Locked), Disarmed: reasons(d.Classes), DisarmedDevices: reasons(d.Unarmed)}
	for _, name := range d.Armed {
		l.ArmedDevices[name] = true
	}
	return l
}

func reasons[K comparable](m map[K]decision) map[K]string {
	words := make(map[K]string, len(m))
	for k, d := range m {
		words[k] = d.Reason
	}
	return words
}

func set[K comparable, V any](m map[K]V, k K, v V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[k] = v
	return m
}
