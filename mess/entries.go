package mess

import (
	"encoding/base64"
	"reflect"
	"slices"
	"strings"
)

// Entry is one piece of request context or response content (MESS 1.0 section 2, 1.1
// section 3). It stores the short or long form as written; its methods interpret it.
type Entry struct {
	Type  string // "" for a bare string, else image, file, location, ...
	Value any    // string, bool, Number, []any or Object, as written
	Extra Object // further keys next to the type
}

// Media is the content of an image, audio, video or file entry. Short form: only the URI
// (http, https, file, data or content).
type Media struct {
	URI      string `mess:"uri"`
	File     string `mess:"file"`     // name of an attachment (MESSE-AF 2.1)
	Resource string `mess:"resource"` // content:// (MESSE-AF 2.1)
	Name     string `mess:"name"`
	MIME     string `mess:"mime"`
	Size     *int64 `mess:"size"`   // bytes
	SHA256   string `mess:"sha256"` // hex; messkit extension
	// CapturedAt is the capture time (messkit extension); the file itself contains no
	// metadata.
	CapturedAt Time   `mess:"captured_at"`
	Extra      Object `mess:"*"`
}

// Location is a position or an address (MESS 1.1 section 3.2).
type Location struct {
	Lat         *float64 `mess:"lat"`      // degrees north
	Lng         *float64 `mess:"lng"`      // degrees east
	Accuracy    *float64 `mess:"accuracy"` // meters
	Altitude    *float64 `mess:"altitude"` // meters
	Name        string   `mess:"name"`
	Address     string   `mess:"address"`
	Description string   `mess:"description"`
	Extra       Object   `mess:"*"`
}

// Confirmation is a yes or no (MESS 1.1 section 3.3). Short form: the boolean.
type Confirmation struct {
	Confirmed bool   `mess:"confirmed"`
	Details   string `mess:"details"`
	Extra     Object `mess:"*"`
}

// ErrorContent is the content of an error entry (MESS 1.0 section 2.2).
type ErrorContent struct {
	Code    string `mess:"code"`
	Message string `mess:"message"`
	Detail  any    `mess:"detail"`
	Extra   Object `mess:"*"`
}

// entryTypes lists the content types (MESS 1.0 sections 2.1 and 2.2, 1.1 section 3.1).
var entryTypes = []string{
	"image", "audio", "video", "file", "url", "json", "ref", "embedding",
	"text", "confirmation", "structured", "error", "location",
}

// mediaTypes lists the types whose content is a Media.
var mediaTypes = []string{"image", "audio", "video", "file"}

// TextEntry returns plain text: a bare string.
func TextEntry(s string) Entry { return Entry{Value: s} }

// MediaEntry returns an image, audio, video or file.
func MediaEntry(kind string, m Media) Entry {
	if m.URI != "" && reflect.DeepEqual(m, Media{URI: m.URI}) {
		return Entry{Type: kind, Value: m.URI}
	}
	return ObjectEntry(kind, m)
}

// ObjectEntry returns content of any type; value may contain plain values, maps, slices and
// types of this package.
func ObjectEntry(kind string, value any) Entry {
	return Entry{Type: kind, Value: plain(encode(reflect.ValueOf(value)))}
}

// Text returns the text of a bare string, text or url entry.
func (e Entry) Text() (string, bool) {
	s, ok := e.Value.(string)
	return s, ok && (e.Type == "" || e.Type == "text" || e.Type == "url")
}

// Media returns the image, audio, video or file, in either form.
func (e Entry) Media() (Media, bool) {
	if !slices.Contains(mediaTypes, e.Type) {
		return Media{}, false
	}
	if uri, ok := e.Value.(string); ok {
		return Media{URI: uri}, true
	}
	var m Media
	return m, e.into(&m)
}

// Location returns the position of the entry.
func (e Entry) Location() (Location, bool) {
	var l Location
	return l, e.Type == "location" && e.into(&l)
}

// Confirmation returns the yes or no of the entry, in either form.
func (e Entry) Confirmation() (Confirmation, bool) {
	if yes, ok := e.Value.(bool); ok && e.Type == "confirmation" {
		return Confirmation{Confirmed: yes}, true
	}
	var c Confirmation
	return c, e.Type == "confirmation" && e.into(&c)
}

// Failure returns the content of an error entry.
func (e Entry) Failure() (ErrorContent, bool) {
	var c ErrorContent
	return c, e.Type == "error" && e.into(&c)
}

// into decodes a mapping into a type, and reports whether it fits.
func (e Entry) into(out any) bool {
	o, ok := e.Value.(Object)
	if !ok {
		return false
	}
	var d decoder
	d.into(reflect.ValueOf(out).Elem(), o.write(), "")
	return len(d.problems) == 0
}

// DataURI encodes data as a URI (MESS 1.0 section 2.3).
func DataURI(mime string, data []byte) string {
	return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// ParseDataURI decodes a data URI. It returns false for any other URI.
func ParseDataURI(uri string) (mime string, data []byte, ok bool) {
	rest, ok := strings.CutPrefix(uri, "data:")
	if !ok {
		return "", nil, false
	}
	mime, text, ok := strings.Cut(rest, ";base64,")
	if !ok {
		return "", nil, false
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", nil, false
	}
	return mime, data, true
}

// Clone returns a deep copy.
func (o Object) Clone() Object {
	if o == nil {
		return nil
	}
	c := make(Object, len(o))
	for i, f := range o {
		c[i] = Field{f.Key, clone(f.Value)}
	}
	return c
}

func clone(v any) any {
	switch v := v.(type) {
	case Object:
		return v.Clone()
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = clone(one)
		}
		return list
	}
	return v
}
