package httpapi_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

const moved = "ref: 2026-01-20-001\nrequestor: agent\nstatus: pending\nintent: look\n---\nfrom: agent\nMESS:\n- request: {intent: look}\n"

// All forms of an import give the same files, and every wrong form is an error.
func TestImport(t *testing.T) {
	type got struct {
		ref   string
		files map[string][]byte
	}
	var in []got
	h := startHarness(t, httpapi.Config{Import: func(ref string, files map[string][]byte) error {
		in = append(in, got{ref, files})
		return nil
	}})
	text, _ := json.Marshal(moved)
	file := func(name, content, more string) string {
		c, _ := json.Marshal(content)
		return `{"name":"` + name + `","content":` + string(c) + more + `}`
	}
	picture := base64.StdEncoding.EncodeToString([]byte("\x00picture"))
	for what, c := range map[string]struct {
		body, kind string
		files      map[string]string // nil: the server rejects it
		error      string
	}{
		"a text of YAML":  {moved, "application/yaml", map[string]string{"2026-01-20-001.messe-af.yaml": moved}, ""},
		"content":         {`{"content":` + string(text) + `}`, "", map[string]string{"2026-01-20-001.messe-af.yaml": moved}, ""},
		"files":           {`{"files":[` + file("000-2026-01-20-001.messe-af.yaml", moved, "") + `,` + file("att-002-image-a.png", picture, `,"encoding":"base64"`) + `]}`, "", map[string]string{"000-2026-01-20-001.messe-af.yaml": moved, "att-002-image-a.png": "\x00picture"}, ""},
		"nothing":         {`{}`, "", nil, "content or files required"},
		"both":            {`{"content":"x","files":[{"name":"a"}]}`, "", nil, "one of the two"},
		"no thread":       {`{"content":"hello"}`, "", nil, "files[0]"},
		"no ref":          {`{"content":"status: pending\n"}`, "", nil, "ref: is missing"},
		"a way out":       {`{"content":"ref: ../../etc/passwd\nstatus: pending\n"}`, "", nil, "cannot be the ref"},
		"a file's way":    {`{"files":[` + file("000-2026-01-20-001.messe-af.yaml", moved, "") + `,` + file("../att-1-x", "", "") + `]}`, "", nil, "not the name of a file"},
		"another thread":  {`{"files":[` + file("000-2026-01-20-001.messe-af.yaml", moved, "") + `,` + file("001-2026-01-20-002.messe-af.yaml", moved, "") + `]}`, "", nil, "not the name of a file"},
		"no envelope":     {`{"files":[` + file("001-2026-01-20-001.messe-af.yaml", moved, "") + `]}`, "", nil, "lacks 000-REF"},
		"no base64":       {`{"files":[` + file("000-2026-01-20-001.messe-af.yaml", moved, "") + `,` + file("att-002-image-a.png", "%", `,"encoding":"base64"`) + `]}`, "", nil, "not base64"},
		"an odd encoding": {`{"files":[` + file("000-2026-01-20-001.messe-af.yaml", moved, `,"encoding":"rot13"`) + `]}`, "", nil, "encoding"},
		"one twice":       {`{"files":[` + file("000-2026-01-20-001.messe-af.yaml", moved, "") + `,` + file("000-2026-01-20-001.messe-af.yaml", "x", "") + `]}`, "", nil, "is here twice"},
		"a wrong type":    {`{"files":"x"}`, "", nil, "files[0]: is text; write a mapping"},
	} {
		in = nil
		kind := []string{}
		if c.kind != "" {
			kind = []string{"Content-Type", c.kind}
		}
		r := h.do("POST", root+"/import", h.op, c.body, kind...)
		if c.files == nil {
			if h.wantReadableError(what, r, 400); !strings.Contains(r.field("error"), c.error) || in != nil {
				t.Errorf("%s: %s, want %q", what, r.body, c.error)
			}
			continue
		}
		h.want(r, 201, `{"imported":1,"threads":[{"ref":"DAY-001","status":"pending"}]}`)
		if len(in) != 1 || in[0].ref != "2026-01-20-001" || len(in[0].files) != len(c.files) {
			t.Fatalf("%s: %+v", what, in)
		}
		for name, want := range c.files {
			if string(in[0].files[name]) != want {
				t.Errorf("%s: %s is %q", what, name, in[0].files[name])
			}
		}
	}
	h.wantReadableError("an executor imports", h.do("POST", root+"/import", h.register("pi", `"x"`), `{"content":`+string(text)+`}`), 403)
	silent := startHarness(t, httpapi.Config{})
	silent.wantReadableError("without files", silent.do("POST", root+"/import", silent.op, `{"content":`+string(text)+`}`), 400)
}

// An export is valid and has all messages and images of the thread.
func TestExport(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone := h.register("phone", `"x"`)
	ref := h.create(h.op, `{"intent":"look","requires":["x"],"x_own":{"kept":1}}`)
	one := root + "/requests/" + ref
	h.do("PATCH", one, phone, `{"status":"claimed"}`)
	image := h.do("PUT", one+"/attachments/a.png", phone, "\x89PNG\x00", "Content-Type", "image/png").body
	h.want(h.do("PATCH", one, phone, `{"status":"completed","mess":[{"response":{"content":["milk",{"image":`+image+`}]}}]}`), 200, "")
	var v struct {
		Format, Content string
		Files           []struct{ Name, Content, Encoding string }
	}
	for _, format := range []string{"", "?format=v2", "?format=v1"} {
		r := h.do("GET", root+"/export/"+ref+format, h.op, "")
		if v.Content = ""; r.code != 200 || json.Unmarshal([]byte(r.body), &v) != nil {
			t.Fatalf("%d %s", r.code, r.body)
		}
		text := v.Content
		if v.Format == "v2" {
			text = v.Files[0].Content
			if data, err := base64.StdEncoding.DecodeString(v.Files[1].Content); err != nil || string(data) != "\x89PNG\x00" || v.Files[0].Name != "000-"+ref+".messe-af.yaml" || len(v.Files) != 2 {
				t.Errorf("%+v, %v", v.Files, err)
			}
		}
		is, err := messeaf.Parse([]byte(text))
		if err != nil || is.Envelope.Ref != ref || is.Envelope.Status != mess.Completed || is.Envelope.Executor != "phone" || len(is.Messages) < 3 || !strings.Contains(text, "x_own") {
			t.Errorf("%s: %v\n%s", format, err, text)
		}
	}
	if r := h.do("GET", root+"/export/"+ref, h.register("other", `"y"`), ""); r.code != 404 {
		t.Errorf("a stranger: %d", r.code)
	}
	small := startHarness(t, httpapi.Config{MaxBody: 4 << 10})
	small.do("POST", root+"/requests", small.op, `{"intent":"look"}`)
	phone = small.register("phone", `"x"`)
	ref = small.create(small.op, `{"intent":"look","requires":["x"]}`)
	one = root + "/requests/" + ref
	small.do("PATCH", one, phone, `{"status":"claimed"}`)
	for _, name := range []string{"a", "b"} {
		image := small.do("PUT", one+"/attachments/"+name+".png", phone, strings.Repeat(name, 3<<10), "Content-Type", "image/png").body
		small.want(small.do("PATCH", one, phone, `{"status":"in_progress","mess":[{"response":{"content":[{"image":`+image+`}]}}]}`), 200, "")
	}
	small.wantReadableError("more than fits", small.do("GET", root+"/export/"+ref, small.op, ""), 413)
}
