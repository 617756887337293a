package intake_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/channel/intake"
	"github.com/messkit/messkit/mess"
)

// A request gets the id of its message, so that the same message again is the same request.
func TestRequestIDs(t *testing.T) {
	for text, want := range map[string]string{
		`{"id": "m", "MESS": [{"request": {"intent": "look"}}]}`:                                                   "m",
		`{"id": "m", "MESS": [{"request": {"intent": "look", "id": "r"}}]}`:                                        "r",
		`{"id": "m", "MESS": [{"request": {"intent": "look", "id": "r"}}, {"request": {"intent": "look again"}}]}`: "r m-2",
	} {
		m, err := intake.Read([]byte(text), true)
		var ids []string
		for _, item := range m.Items {
			ids = append(ids, item.(*mess.Request).ID)
		}
		if got := strings.Join(ids, " "); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
}

// An invalid payload is an error with the id of the message, if it has one.
func TestInvalidPayloads(t *testing.T) {
	for text, want := range map[string]struct {
		code mess.ErrorCode
		id   string
	}{
		`{"MESS": [{"request": {"intent": "look"}}]}`: {code: mess.Invalid},
		`{"id": "m", "MESS": [{"request": {}}]}`:      {mess.Invalid, "m"},
		`{"id": "a\u0007", "MESS": 1}`:                {code: mess.Invalid},
		"":                                            {code: mess.Invalid},
		strings.Repeat(" ", intake.Max+1):             {code: mess.TooLarge},
	} {
		m, err := intake.Read([]byte(text), true)
		var e *mess.Error
		if !errors.As(err, &e) || e.Code != want.code || m.ID != want.id {
			t.Errorf("%.60q: id %q, %v", text, m.ID, err)
		}
		if why := intake.Rejection(err).Items[0].(*mess.Ack).Extra.Text("why"); why != string(want.code) {
			t.Errorf("%.60q: the answer says %q, want %q", text, why, want.code)
		}
	}
}

// Each payload is a message or an error of the exchange, which becomes an answer.
func FuzzRead(f *testing.F) {
	for _, s := range []string{`{"id":"m","MESS":[{"request":{"intent":"look"}}]}`, `[{"query":{"type":"status"}}]`, "re: x\nMESS: []", "---\n---\n", "\x00"} {
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, mayRepeat bool) {
		m, err := intake.Read(data, mayRepeat)
		if err == nil {
			return
		}
		var e *mess.Error
		if !errors.As(err, &e) || len(m.Items) > 0 {
			t.Errorf("%q: %+v, %v", data, m, err)
		}
		if _, err := intake.Rejection(err).JSON(); err != nil {
			t.Error(err)
		}
	})
}
