package messeaf

import (
	"bytes"
	"slices"

	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
)

// separator separates two documents.
const separator = "---\n"

// Print prints a thread as one text, in the form of the specification.
func Print(t Thread) ([]byte, error) {
	text, err := PrintEnvelope(t.Envelope)
	if err != nil {
		return nil, err
	}
	for _, m := range t.Messages {
		doc, err := PrintMessage(m)
		if err != nil {
			return nil, err
		}
		text = append(text, doc...)
	}
	return text, nil
}

// PrintEnvelope prints the first document of a thread's first file.
func PrintEnvelope(e Envelope) ([]byte, error) {
	history := &strictyaml.Value{Kind: strictyaml.Map}
	if _, other := e.Extra.Get("history"); !other {
		history.Add("history", mess.WriteValue(append([]Entry{}, e.History...)))
	}
	e.History = nil
	head := mess.WriteValue(e)
	if _, other := e.Extra.Get("executor"); e.Executor == "" && !other { // "null if unclaimed"
		i := 1 + slices.IndexFunc(head.Pairs, func(p strictyaml.Pair) bool { return p.Key == "requestor" })
		head.Pairs = slices.Insert(head.Pairs, i, strictyaml.Pair{Key: "executor", Value: &strictyaml.Value{Kind: strictyaml.Null}})
	}
	return blocks(head, history)
}

// leading lists the first fields of a message, in order.
var leading = []string{"from", "received", "channel", "re"}

// PrintMessage prints a message for the end of a thread file: with a blank line and a
// separator before it. It omits the ref, which follows from the position.
func PrintMessage(m mess.Message) ([]byte, error) {
	m.Ref = ""
	head, list := &strictyaml.Value{Kind: strictyaml.Map}, &strictyaml.Value{Kind: strictyaml.Map}
	for _, p := range m.Document().Pairs {
		if p.Key == "MESS" {
			list.Pairs = append(list.Pairs, p)
		} else {
			head.Pairs = append(head.Pairs, p)
		}
	}
	order.By(head.Pairs, func(a, b strictyaml.Pair) int { return place(a.Key) - place(b.Key) })
	text, err := blocks(head, list)
	return append([]byte("\n"+separator), text...), err
}

func place(key string) int {
	if i := slices.Index(leading, key); i >= 0 {
		return i
	}
	return len(leading)
}

// blocks prints mappings with blank lines between them.
func blocks(parts ...*strictyaml.Value) ([]byte, error) {
	var b bytes.Buffer
	for _, p := range parts {
		if len(p.Pairs) == 0 {
			continue
		}
		text, err := strictyaml.YAML(p)
		if err != nil {
			return nil, err
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.Write(text)
	}
	return b.Bytes(), nil
}
