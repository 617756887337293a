package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/messkit/messkit/mess"
)

// maxText is the limit of a message as text, in bytes, like that of the HTTP API.
const maxText = 10 << 20

// parseMessage reads the arguments of the tool mess: a message as text in YAML or JSON, or as
// JSON itself.
func parseMessage(raw json.RawMessage) (mess.Message, error) {
	var in struct {
		Message json.RawMessage `json:"message"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil || len(in.Message) == 0 || string(in.Message) == "null" {
		return mess.Message{}, mess.Errorf(mess.Invalid, "message: is missing, or something else is there; give {\"message\": ...} alone")
	}
	text := []byte(in.Message)
	if text[0] != '"' {
		return mess.ParseValidJSON(text)
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return mess.Message{}, mess.Errorf(mess.Invalid, "message: is no text; give a message in YAML or JSON")
	}
	text = []byte(withoutFence(s))
	if len(text) > maxText {
		return mess.Message{}, mess.Errorf(mess.TooLarge, "message: is larger than %d bytes; send less", maxText)
	}
	all, err := mess.ParseValid(text)
	if err != nil {
		return mess.Message{}, err
	}
	if len(all) != 1 {
		return mess.Message{}, mess.Errorf(mess.Invalid, "message: there are %d documents; put the items into one list, or send one message at a time", len(all))
	}
	return all[0], nil
}

// withoutFence removes the fence that models put around YAML and JSON.
func withoutFence(s string) string {
	s = strings.TrimSpace(s)
	body, ok := strings.CutPrefix(s, "```")
	if !ok {
		return s
	}
	body, ok = strings.CutSuffix(body, "```")
	_, body, more := strings.Cut(body, "\n") // the fence names a language
	if !ok || !more {
		return s
	}
	return body
}

// requestOf returns a message with a request.
func requestOf(fields mess.Object) (mess.Message, error) {
	text, err := json.Marshal([]any{
		mess.Object{{Key: "v", Value: "1.1.0"}},
		mess.Object{{Key: "request", Value: fields}},
	})
	if err != nil {
		return mess.Message{}, err
	}
	m, err := mess.ParseValidJSON(text)
	if err != nil {
		return mess.Message{}, argumentPaths(err)
	}
	return m, nil
}

// argumentPaths replaces the paths of a generated text by those of the arguments.
func argumentPaths(err error) error {
	ps, ok := errors.AsType[mess.Problems](err)
	if !ok {
		return err
	}
	ps = slices.Clone(ps)
	for i := range ps {
		ps[i].Line = 0
		ps[i].Path = strings.TrimPrefix(strings.TrimPrefix(ps[i].Path, "[1].request"), ".")
	}
	return ps
}
