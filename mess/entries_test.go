package mess_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/mess"
)

// entryForms contains all content entries in all their forms (MESS 1.0 sections 2.1 and
// 2.2, MESS 1.1 section 3, MESSE-AF attachments, and the forms of other implementations),
// for context and content.
var entryForms = []string{
	`"plain text"`,
	`"two\nlines"`,
	`{"image":"https://example.com/ref.jpg"}`,
	`{"image":"data:image/png;base64,iVBORw0KGgo="}`,
	`{"image":{"uri":"https://example.com/o.png","name":"orientation"}}`,
	`{"image":{"name":"a.jpg","data":"iVBORw0KGgo="}}`,
	`{"audio":"data:audio/wav;base64,UklGRi4A"}`,
	`{"audio":{"uri":"file://a.wav","mime":"audio/wav"}}`,
	`{"video":"https://example.com/v.mp4"}`,
	`{"video":{"resource":"content://a/b","size":12}}`,
	`{"file":"file://local/path.stl"}`,
	`{"file":{"uri":"https://example.com/s.pdf","name":"instructions","mime":"application/pdf"}}`,
	`{"file":{"file":"att-002-image-a.jpg","mime":"image/jpeg","size":48213,"later":[1]}}`,
	`{"url":"https://recipe.com/stir-fry"}`,
	`{"json":{"items":["onions","garlic"],"servings":4}}`,
	`{"json":[1,2.50,null]}`,
	`{"json":null}`,
	`{"ref":"previous-request-id"}`,
	`{"embedding":[0.123,-0.456,1e-7]}`,
	`{"embedding":[]}`,
	`{"text":"explicit"}`,
	`{"text":""}`,
	`{"confirmation":true}`,
	`{"confirmation":false}`,
	`{"confirmation":{"confirmed":true,"details":"Completed"}}`,
	`{"confirmation":{"confirmed":false}}`,
	`{"structured":{"b":1,"a":[{"c":"2026-02-02"}]}}`,
	`{"structured":{}}`,
	`{"error":{"code":"no_access","message":"door closed","detail":{"door":1}}}`,
	`{"error":{"code":"x","message":"y","detail":"z"}}`,
	`{"location":{"lat":37.7749,"lng":-122.4194,"accuracy":10,"altitude":15,"name":"Kitchen","address":"52 Paradise Dr","description":"by the door"}}`,
	`{"location":{"name":"Kitchen"}}`,
	`{"location":{"lat":0,"lng":-0.0}}`,
	`{"Note":"chicken expires tomorrow"}`,
	`{"hologram":{"uri":"https://example.com/h","depth":[1,2]}}`,
	`{"image":"https://example.com/ref.jpg","caption":"of the door","taken":"2026-02-02"}`,
}

var positions = map[string]string{
	"context": `{"MESS":[{"request":{"intent":"look","context":[%s]}}]}`,
	"content": `{"MESS":[{"response":{"re":"last","content":[%s]}}]}`,
	"reply":   `{"MESS":[{"reply":{"re":"last","confirm":true,"context":[%s]}}]}`,
}

func TestEntriesInAllPositions(t *testing.T) {
	for position, frame := range positions {
		for _, e := range append(entryForms, strings.Join(entryForms, ",")) {
			t.Run(position+"/"+e[:min(len(e), 40)], func(t *testing.T) {
				text := fmt.Sprintf(frame, e)
				if err := parse(t, []byte(text)).Validate(); err != nil {
					t.Errorf("not valid: %v", err)
				}
				roundTrip(t, text)
				js, err := parse(t, []byte(text)).JSON()
				if err != nil || string(js) != text {
					t.Errorf("JSON is not as written:\ngot  %s (%v)\nwant %s", js, err, text)
				}
			})
		}
	}
}

// The decoder keeps invalid entries, so that Validate reports them.
func TestOddEntriesAreKept(t *testing.T) {
	for _, e := range []string{`{}`, `[]`, `[{"image":"x"}]`, `null`, `5`, `1.50`, `true`} {
		text := fmt.Sprintf(positions["content"], e)
		if got := printed(t, parse(t, []byte(text))); got != text {
			t.Errorf("got %s, want %s", got, text)
		}
		roundTrip(t, text)
	}
}

// entry decodes one entry.
func entry(t *testing.T, text string) mess.Entry {
	t.Helper()
	m := parse(t, fmt.Appendf(nil, positions["content"], text))
	return m.Items[0].(*mess.Response).Content[0]
}

func TestEntryText(t *testing.T) {
	for text, want := range map[string]string{`"a b"`: "a b", `{"text":"c"}`: "c", `""`: "", `{"text":""}`: ""} {
		if got, ok := entry(t, text).Text(); got != want || !ok {
			t.Errorf("%s: got %q, %t", text, got, ok)
		}
	}
	for _, text := range []string{`{"image":"https://a"}`, `{"text":{"a":1}}`, `{"json":"x"}`, `{"Note":"x"}`, `{"ref":"x"}`} {
		if got, ok := entry(t, text).Text(); ok {
			t.Errorf("%s is text: %q", text, got)
		}
	}
}

func TestEntryMedia(t *testing.T) {
	size := int64(12)
	for text, want := range map[string]mess.Media{
		`{"image":"https://a"}`:                           {URI: "https://a"},
		`{"audio":"data:audio/wav;base64,UklGRi4A"}`:      {URI: "data:audio/wav;base64,UklGRi4A"},
		`{"video":{"uri":"u","name":"n","mime":"m/m"}}`:   {URI: "u", Name: "n", MIME: "m/m"},
		`{"file":{"file":"att-1","size":12,"path":"x"}}`:  {File: "att-1", Size: &size, Extra: mess.Object{{Key: "path", Value: "x"}}},
		`{"image":{"resource":"content://a/b","uri":""}}`: {Resource: "content://a/b"},
	} {
		got, ok := entry(t, text).Media()
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s: %t, -want +got\n%s", text, ok, diff)
		}
	}
	for _, text := range []string{`"https://a"`, `{"url":"https://a"}`, `{"image":["https://a"]}`, `{"image":null}`, `{"image":{"size":"big"}}`, `{"Image":"https://a"}`} {
		if got, ok := entry(t, text).Media(); ok {
			t.Errorf("%s is media: %v", text, got)
		}
	}
}

func TestEntryLocation(t *testing.T) {
	lat, lng := 37.9542, -122.7261
	want := mess.Location{Lat: &lat, Lng: &lng, Name: "Park", Extra: mess.Object{{Key: "floor", Value: mess.Number("2")}}}
	got, ok := entry(t, `{"location":{"lat":37.9542,"lng":-122.7261,"name":"Park","floor":2}}`).Location()
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("%t, -want +got\n%s", ok, diff)
	}
	for _, text := range []string{`"Park"`, `{"location":"Park"}`, `{"location":{"lat":"north"}}`, `{"location":[1,2]}`, `{"place":{"lat":1}}`} {
		if got, ok := entry(t, text).Location(); ok {
			t.Errorf("%s is a location: %v", text, got)
		}
	}
}

// Only the boolean confirms, not a similar value.
func TestEntryConfirmation(t *testing.T) {
	for text, want := range map[string]mess.Confirmation{
		`{"confirmation":true}`:                               {Confirmed: true},
		`{"confirmation":false}`:                              {},
		`{"confirmation":{"confirmed":true,"details":"ok"}}`:  {Confirmed: true, Details: "ok"},
		`{"confirmation":{"confirmed":true,"units":4}}`:       {Confirmed: true, Extra: mess.Object{{Key: "units", Value: mess.Number("4")}}},
		`{"confirmation":{"confirmed":false,"details":"no"}}`: {Details: "no"},
	} {
		got, ok := entry(t, text).Confirmation()
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s: %t, -want +got\n%s", text, ok, diff)
		}
	}
	for _, text := range []string{
		`"true"`, `{"confirmation":"true"}`, `{"confirmation":"yes"}`, `{"confirmation":1}`, `{"confirmation":null}`, `{"confirmation":[true]}`,
		`{"confirmation":{"confirmed":"true"}}`, `{"confirmation":{"confirmed":1}}`, `{"confirm":true}`,
	} {
		if got, ok := entry(t, text).Confirmation(); ok || got.Confirmed {
			t.Errorf("%s confirms: %v, %t", text, got, ok)
		}
	}
}

func TestEntryConstructors(t *testing.T) {
	size := int64(0)
	m := mess.Message{Items: []mess.Item{&mess.Response{Re: mess.Refs{"a"}, Content: []mess.Entry{
		mess.TextEntry("x"), mess.TextEntry("- no"),
		mess.MediaEntry("image", mess.Media{URI: "https://a"}),
		mess.MediaEntry("file", mess.Media{URI: "https://a", Name: "n"}),
		mess.MediaEntry("image", mess.Media{File: "f.jpg", MIME: "image/jpeg", Size: &size}),
		mess.ObjectEntry("location", mess.Location{Name: "Kitchen"}),
		mess.ObjectEntry("confirmation", mess.Confirmation{}),
		mess.ObjectEntry("confirmation", true),
		mess.ObjectEntry("structured", map[string]any{"b": 1, "a": []string{"x"}, "c": map[string]any{"f": 0.5, "n": nil}}),
	}}}}
	const want = `{"MESS":[{"response":{"re":"a","content":["x","- no",{"image":"https://a"},{"file":{"uri":"https://a","name":"n"}},` +
		`{"image":{"file":"f.jpg","mime":"image/jpeg","size":0}},{"location":{"name":"Kitchen"}},{"confirmation":{"confirmed":false}},` +
		`{"confirmation":true},{"structured":{"a":["x"],"b":1,"c":{"f":0.5,"n":null}}}]}}]}`
	if js, err := m.JSON(); err != nil || string(js) != want {
		t.Errorf("got  %s, %v\nwant %s", js, err, want)
	}
	if err := m.Validate(); err != nil {
		t.Error(err)
	}
	roundTrip(t, want)
}

func TestObject(t *testing.T) {
	o := mess.Object{{Key: "b", Value: []any{mess.Object{{Key: "x", Value: "y"}}}}, {Key: "a", Value: nil}}
	c := o.Clone()
	if diff := cmp.Diff(o, c); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	c[0].Value.([]any)[0].(mess.Object)[0].Value = "changed"
	c = c.Set("a", true).Set("c", "new")
	want := mess.Object{{Key: "b", Value: []any{mess.Object{{Key: "x", Value: "y"}}}}, {Key: "a", Value: nil}}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Errorf("a change of the clone shows in the original: %s", diff)
	}
	if v, ok := c.Get("a"); v != true || !ok {
		t.Errorf("Get gives %v, %t", v, ok)
	}
	if v, ok := c.Get("missing"); v != nil || ok {
		t.Errorf("Get of what is not there gives %v, %t", v, ok)
	}
	if mess.Object(nil).Clone() != nil {
		t.Error("the clone of nil is something")
	}
}

func TestDataURI(t *testing.T) {
	uri := mess.DataURI("image/png", []byte{0xff, 0xfe, 0})
	if uri != "data:image/png;base64,//4A" {
		t.Errorf("got %s", uri)
	}
	if mime, data, ok := mess.ParseDataURI(uri); mime != "image/png" || string(data) != "\xff\xfe\x00" || !ok {
		t.Errorf("got %q, %q, %t", mime, data, ok)
	}
	for _, bad := range []string{"", "data:", "data:image/png", "data:image/png,abc", "data:image/png;base64,?", "data:image/png;base64,AAAA?", "https://a", "data:image/jpeg;base64,..."} {
		if _, _, ok := mess.ParseDataURI(bad); ok {
			t.Errorf("%q is a data URI", bad)
		}
	}
}

func TestParseDataURIReturnsNothingOnError(t *testing.T) {
	for _, bad := range []string{"data:image/png;base64,?", "data:image/png;base64,AAAA?", "data:image/jpeg;base64,..."} {
		if mime, data, ok := mess.ParseDataURI(bad); ok || mime != "" || len(data) > 0 {
			t.Errorf("%q: got %q, %q, %t, want nothing", bad, mime, data, ok)
		}
	}
}

// An empty key is not a content type, and the decoder keeps it.
func TestEntryWithEmptyKeyIsKept(t *testing.T) {
	text := fmt.Sprintf(positions["content"], `{"":"x","more":"y"}`)
	m := parse(t, []byte(text))
	if got := printed(t, m); got != text {
		t.Errorf("got %s, want %s", got, text)
	}
	if m.Validate() == nil {
		t.Error("Validate accepts the message, want an error")
	}
}
