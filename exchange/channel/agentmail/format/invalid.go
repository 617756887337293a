package format

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
)

// Codes of what is wrong with a message.
const (
	CodeInvalidFormat   = "invalid_format"
	CodeVersionMismatch = "version_mismatch"
	CodeUnknownType     = "unknown_message_type"
	CodeSenderMismatch  = "sender_mismatch"
)

// typeNames are for error messages.
var typeNames = func() string {
	var names []string
	for _, t := range slices.Sorted(maps.Keys(tables)) {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}()

// Invalid is a message that cannot be taken ("Error Handling").
type Invalid struct {
	Code      string
	Details   string // a sentence for each thing that is wrong
	Received  string // the version that it bears, for a version mismatch
	Type      Type   // as far as it is known
	TaskID    string // its task, or its thread; "" if neither is known
	MessageID string // "" if it is not known
}

func (e *Invalid) Error() string { return e.Code + ": " + e.Details }

// maxDetails is how much is said about one message, in bytes.
const maxDetails = 2000

func (e *Invalid) because(text string) *Invalid {
	e.Details = strings.ToValidUTF8(text[:min(len(text), maxDetails)], "")
	return e
}

// about takes what a message says of itself.
func (e *Invalid) about(v *strictyaml.Value) {
	if t := v.Get("type"); t != nil && t.Kind == strictyaml.String {
		e.Type = Type(t.Text)
	}
	for key, to := range map[string]*string{"task_id": &e.TaskID, "message_id": &e.MessageID} {
		if s := v.Get(key); s != nil && s.Kind == strictyaml.String && s.Text != "" {
			*to = s.Text
		}
	}
}

// version refuses another major version ("Versioning").
func (e *Invalid) version(v *strictyaml.Value) error {
	said := v.Get("version")
	if said == nil || said.Kind != strictyaml.String {
		return nil // which the table tells
	}
	major, ok := majorOf(said.Text)
	if !ok {
		return e.because(fmt.Sprintf("Field version: %.60q is not MAJOR.MINOR.PATCH", said.Text))
	}
	if own, _ := majorOf(Version); major != own {
		e.Code, e.Received = CodeVersionMismatch, said.Text
		return e.because(fmt.Sprintf("version %.60s is not understood; send %s", said.Text, Version))
	}
	return nil
}

func majorOf(version string) (major int, ok bool) {
	parts := strings.Split(version, ".")
	if len(parts) != 3 {
		return 0, false
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 31)
		if err != nil || p != strconv.FormatUint(n, 10) {
			return 0, false
		}
		if i == 0 {
			major = int(n)
		}
	}
	return major, true
}

// Report is the error report that answers the message, false where there is to be
// none: an error report is never answered by another, or there would be no end.
func (e *Invalid) Report(sender, messageID string, now time.Time) (Message, bool) {
	if e.Type == TypeErrorReport {
		return Message{}, false
	}
	context := mess.Object{{Key: "message_id", Value: e.MessageID}, {Key: "details", Value: e.Details}}
	if e.Code == CodeVersionMismatch {
		context = append(context, mess.Field{Key: "received", Value: e.Received}, mess.Field{Key: "supported", Value: Version})
	}
	return Message{
		Version: Version, Timestamp: mess.TimeOf(now.UTC()), SenderID: sender, MessageID: messageID, Type: TypeErrorReport,
		Body: &ErrorReport{
			TaskID: cmp.Or(e.TaskID, "unknown"), Severity: "medium",
			Error:             Error{Code: e.Code, Message: e.Details, Context: context},
			ReproductionSteps: []string{"the message " + cmp.Or(e.MessageID, "without an id") + " was read"},
		},
	}, true
}
