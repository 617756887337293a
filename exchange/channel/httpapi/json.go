package httpapi

import (
	"bytes"
	"encoding/json"
)

// jsonType is the content type of JSON responses.
const jsonType = "application/json; charset=utf-8"

// jsonWriter writes JSON as a whole or in pieces, where pieces are cheaper.
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

// value writes a value that always encodes.
func (p *jsonWriter) value(v any) {
	_ = p.Encode(v)
	p.Truncate(p.Len() - 1) // its newline
}

// begin writes a struct with fields, without its closing brace.
func (p *jsonWriter) begin(v any) {
	p.value(v)
	p.Truncate(p.Len() - 1)
}
