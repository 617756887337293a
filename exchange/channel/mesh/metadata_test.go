package mesh_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/channel/mesh"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/mess"
)

// The requester, the status and the audit log get the metadata of a response as the workflow in
// the specification reads them, and the descriptions of files.
func TestMetadataOfResponse(t *testing.T) {
	h := newFixture(t, nil)
	h.answers(func(e wire.Envelope) wire.Envelope {
		r := answer("msg_meta", e.ID, "the schema has changed")
		r.Payload.Metadata = wire.Object{{Key: "changesFound", Value: json.RawMessage(`true`)}, {Key: "n", Value: json.RawMessage(`3`)}}
		r.Payload.Attachments = []wire.Attachment{{Type: "inline", Data: "YSxi", Filename: "a.csv", Size: -1, Description: "Quick summary table"}}
		return r
	})
	id := h.send(mesh.Sending{To: "hub", Type: wire.Request, Body: "diff the schema"})
	r := h.result(id)
	if string(r.Metadata) != `{"changesFound":true,"n":3}` || r.Descriptions["a.csv"] != "Quick summary table" {
		t.Errorf("%s %v", r.Metadata, r.Descriptions)
	}
	for _, do := range []string{"status", "audit"} {
		text, err := json.Marshal(h.report(mesh.Order{Do: do, Lines: 100}))
		if err != nil || !bytes.Contains(text, []byte(`"changesFound":true`)) {
			t.Errorf("%s: %s %v", do, text, err)
		}
	}
}

// The thread has the metadata of a request and the descriptions of its files. The response has the
// descriptions of the executor.
func TestMetadataOfRequest(t *testing.T) {
	h := newFixture(t, nil)
	e := h.request("msg_1", "forever")
	e.Payload.Metadata = wire.Object{{Key: "routing", Value: json.RawMessage(`{"team":"red"}`)}}
	e.Payload.Attachments = []wire.Attachment{{Type: "inline", Data: "YSxi", Filename: "a.csv", MIME: "text/csv", Size: -1, Description: "Quick summary table"}}
	h.takes(e)
	var ref string
	h.until("the task", func() bool {
		for _, l := range h.audit() {
			ref, _ = l["ref"].(string)
			if ref != "" {
				return true
			}
		}
		return false
	})
	th, err := h.x.Thread(t.Context(), watcher, ref)
	if err != nil {
		t.Fatal(err)
	}
	text, err := mess.Message{Items: []mess.Item{new(th.Request())}}.JSON()
	if err != nil || !strings.Contains(string(text), `"mesh":{"metadata":{"routing":{"team":"red"}}}`) || !strings.Contains(string(text), `"description":"Quick summary table"`) {
		t.Errorf("%s %v", text, err)
	}
	h.until("the progress of the executor", func() bool {
		th, err := h.x.Thread(t.Context(), watcher, ref)
		return err == nil && th.Status == mess.InProgress
	})
	media, err := h.Attach(t.Context(), ref, "chart.bin", "application/octet-stream", strings.NewReader("data"))
	if err != nil {
		t.Fatal(err)
	}
	media.Extra = mess.Object{{Key: "description", Value: "Production trend chart"}}
	if _, err := h.Send(t.Context(), mess.Message{Re: mess.Refs{ref}, Items: []mess.Item{
		&mess.Status{Code: mess.Completed}, &mess.Response{Content: []mess.Entry{mess.MediaEntry("file", media)}},
	}}); err != nil {
		t.Fatal(err)
	}
	r, _ := h.hub.wait(t, responseTo("msg_1"))
	if len(r.Payload.Attachments) != 1 || r.Payload.Attachments[0].Description != "Production trend chart" {
		t.Errorf("%+v", r.Payload.Attachments)
	}
}
