package httpapi

import (
	"bytes"
	"encoding/json"
)

// jsonType is what all our JSON is called.
const jsonType = "application/json; charset=utf-8"

// jsonWriter prints JSON, piece by piece where that is cheaper.
type jsonWriter struct {
	bytes.Buffer
	*json.Encoder
}

func newJSONWriter() *jsonWriter {
	p := &jsonWriter{}
	p.Encoder = json.NewEncoder(&p.Buffer)
	p.SetEscapeHTML(false)
	return p
}

// value prints what can always be printed.
func (p *jsonWriter) value(v any) {
	_ = p.Encode(v)
	p.Truncate(p.Len() - 1) // its newline
}

// begin prints a struct that is never empty, without its end.
func (p *jsonWriter) begin(v any) {
	p.value(v)
	p.Truncate(p.Len() - 1)
}
