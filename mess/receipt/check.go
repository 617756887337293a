package receipt

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/messkit/messkit/mess"
)

// ErrNone reports a message without a receipt.
var ErrNone = errors.New("there is no receipt in it")

// In returns the receipt in a message that ends a thread, and its status. The status is nil
// if the message ends no thread.
func In(m mess.Message) (Receipt, *mess.Status, error) {
	_, s, _ := report(m)
	if s == nil {
		return Receipt{}, nil, errNoReport
	}
	v, ok := s.Extra.Get(Field)
	if !ok {
		return Receipt{}, s, ErrNone
	}
	r, err := Parse(v)
	return r, s, err
}

// Check compares a message with its receipt, and returns all differences. open opens an
// attachment by its name in the message.
func Check(m mess.Message, r Receipt, open func(name string) ([]byte, error)) []error {
	var wrong []error
	note := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	_, s, re := report(m)
	if s == nil {
		return []error{errNoReport}
	}
	if more := len(m.Items) - 1; more > 1 || more == 1 && re == nil {
		note("message: has unsigned content")
	}
	if !r.Authentic() {
		note("signature: is not that of its key")
	}
	for _, d := range []struct {
		what           string
		stated, signed any
	}{
		{"executor", m.From, r.Executor},
		{"status", s.Code, r.Status},
		{"evidence", s.Evidence, r.Evidence},
		{"effect", effectOf(s), r.Effect},
	} {
		if fmt.Sprint(d.stated) != fmt.Sprint(d.signed) {
			note("%s: the message says %.60q, the receipt %.60q", d.what, d.stated, d.signed)
		}
	}
	if m.Epoch != 0 && m.Epoch != r.Epoch {
		note("epoch: the message says %d, the receipt %d", m.Epoch, r.Epoch)
	}
	if is, err := reportDigest(s, re); err != nil || is != r.Report {
		note("report: differs from the signed text%s", because(err))
	}
	return append(wrong, checkContent(re, r, open)...)
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// checkContent compares the content of the response with the signed digests.
func checkContent(re *mess.Response, r Receipt, open func(string) ([]byte, error)) []error {
	var entries []mess.Entry
	if re != nil {
		entries = re.Content
	}
	if len(entries) != len(r.Content) {
		return []error{fmt.Errorf("content: there are %d pieces, and the signature covers %d", len(entries), len(r.Content))}
	}
	var wrong []error
	for i, e := range entries {
		if err := checkEntry(e, r.Content[i], open); err != nil {
			wrong = append(wrong, fmt.Errorf("content[%d]: %w", i, err))
		}
	}
	return wrong
}

func checkEntry(e mess.Entry, signed Content, open func(string) ([]byte, error)) error {
	is, err := content(e)
	if err != nil {
		return err
	}
	if is != signed {
		return errors.New("differs from the signed content")
	}
	f, ok := e.Media()
	if !ok || f.File == "" {
		return nil
	}
	data, err := open(f.File)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != signed.SHA256 {
		return fmt.Errorf("%s: the file differs from the signed one", f.File)
	}
	return nil
}
