package otlp

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"
)

// Span is a piece of work in a trace.
type Span struct {
	Trace      [16]byte
	ID, Parent [8]byte // Parent is zero for a span without one
	Name       string
	Begin, End time.Time
	Attributes []Attribute
	Failed     string // why the work has failed; "" if it has not
}

// Attribute describes a span.
type Attribute struct{ Key, Value string }

// The messages of opentelemetry-proto, trace/v1, in JSON: names in lowerCamelCase, ids in hex, 64-bit
// numbers as decimal strings, and enumerations as numbers.
type (
	jsonExport struct {
		ResourceSpans []jsonResourceSpans `json:"resourceSpans"`
	}
	jsonResourceSpans struct {
		Resource   jsonResource     `json:"resource"`
		ScopeSpans []jsonScopeSpans `json:"scopeSpans"`
	}
	jsonResource struct {
		Attributes []jsonAttribute `json:"attributes"`
	}
	jsonScopeSpans struct {
		Scope jsonScope  `json:"scope"`
		Spans []jsonSpan `json:"spans"`
	}
	jsonScope struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	jsonSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		Parent     string          `json:"parentSpanId,omitempty"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Begin      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []jsonAttribute `json:"attributes,omitempty"`
		Status     *jsonStatus     `json:"status,omitempty"`
	}
	jsonStatus struct {
		Code    int    `json:"code"`
		Message string `json:"message,omitempty"`
	}
	jsonAttribute struct {
		Key   string    `json:"key"`
		Value jsonValue `json:"value"`
	}
	jsonValue struct {
		Text string `json:"stringValue"`
	}
)

const (
	kindInternal = 1
	statusError  = 2
)

// encode returns the body of a request with spans.
func encode(c Config, batch []Span) []byte {
	resource := []Attribute{{"service.name", c.Service}, {"service.version", c.Version}}
	if c.ID != "" {
		resource = append(resource, Attribute{"service.instance.id", c.ID})
	}
	spans := make([]jsonSpan, len(batch))
	for i, s := range batch {
		spans[i] = jsonSpan{
			TraceID: hex.EncodeToString(s.Trace[:]), SpanID: hex.EncodeToString(s.ID[:]), Name: s.Name, Kind: kindInternal,
			Begin: strconv.FormatInt(s.Begin.UnixNano(), 10), End: strconv.FormatInt(s.End.UnixNano(), 10), Attributes: attributes(s.Attributes),
		}
		if s.Parent != [8]byte{} {
			spans[i].Parent = hex.EncodeToString(s.Parent[:])
		}
		if s.Failed != "" {
			spans[i].Status = &jsonStatus{statusError, s.Failed}
		}
	}
	data, err := json.Marshal(jsonExport{[]jsonResourceSpans{{jsonResource{attributes(resource)}, []jsonScopeSpans{{jsonScope{"messkit", c.Version}, spans}}}}})
	if err != nil {
		panic("otlp: " + err.Error()) // texts and numbers have JSON
	}
	return data
}

func attributes(list []Attribute) (all []jsonAttribute) {
	for _, a := range list {
		all = append(all, jsonAttribute{a.Key, jsonValue{a.Value}})
	}
	return all
}

// rejected returns the number of spans that an answer says were not taken.
func rejected(data []byte) uint64 {
	var answer struct {
		PartialSuccess struct {
			Rejected json.RawMessage `json:"rejectedSpans"` // a string, or from some collectors a number
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(data, &answer) != nil {
		return 0
	}
	text := string(answer.PartialSuccess.Rejected)
	if quoted, err := strconv.Unquote(text); err == nil {
		text = quoted
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
