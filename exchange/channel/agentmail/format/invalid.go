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

// Error codes of invalid messages.
const (
	CodeInvalidFormat   = "invalid_format"
	CodeVersionMismatch = "version_mismatch"
	CodeUnknownType     = "unknown_message_type"
	CodeSenderMismatch  = "sender_mismatch"
)

// typeNames is the list of types for error messages.
var typeNames = func() string {
	var names []string
	for _, t := range slices.Sorted(maps.Keys(tables)) {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}()

// Invalid is the error of an invalid message ("Error Handling").
type Invalid struct {
	Code      string
	Details   string // a sentence for each error
	Received  string // version of the message, for a version mismatch
	Type      Type   // "" if unknown
	TaskID    string // its task or thread; "" if unknown
	MessageID string // "" if unknown
}

func (e *Invalid) Error() string { return e.Code + ": " + e.Details }

// maxDetails is the size limit of Details in bytes.
const maxDetails = 2000

func (e *Invalid) because(text string) *Invalid {
	e.Details = strings.ToValidUTF8(text[:min(len(text), maxDetails)], "")
	return e
}

// about reads type, task and id of the message.
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

// version rejects another major version ("Versioning").
func (e *Invalid) version(v *strictyaml.Value) error {
	value := v.Get("version")
	if value == nil || value.Kind != strictyaml.String {
		return nil // the table of fields reports it
	}
	major, ok := majorOf(value.Text)
	if !ok {
		return e.because(fmt.Sprintf("Field version: %.60q is not MAJOR.MINOR.PATCH", value.Text))
	}
	if own, _ := majorOf(Version); major != own {
		e.Code, e.Received = CodeVersionMismatch, value.Text
		return e.because(fmt.Sprintf("messkit does not understand version %.60s; send %s", value.Text, Version))
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

// Report returns the error report for the sender of the message. ok is false for an error report,
// because an answer to an answer would never end.
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
