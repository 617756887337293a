package httpapi

import (
	"encoding/base64"
	"io"
	"net/http"
	"strings"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// transferFile is a file of an exported thread.
type transferFile struct {
	Name     string `json:"name" mess:"name"`
	Content  string `json:"content" mess:"content"`
	Encoding string `json:"encoding,omitempty" mess:"encoding"` // base64 for attachments; "" for text
}

// export returns a thread in MESSE-AF: ?format=v2 as files with attachments, v1 as one text.
func (c *call) export(ref string) error {
	q, err := c.readQuery()
	if err != nil {
		return err
	}
	format := q.Get("format")
	if format != "" && format != "v1" && format != "v2" {
		return mess.Errorf(mess.Invalid, "format: %.20q is unknown; write v1 or v2", format)
	}
	t, err := c.x.Thread(c.r.Context(), c.actor, ref)
	if err != nil {
		return err
	}
	text, err := messeaf.Print(messeaf.Thread{Envelope: t.MESSEAF(), Messages: t.Messages})
	if err != nil {
		return err
	}
	if format == "v1" {
		c.writeJSON(http.StatusOK, map[string]any{"ref": t.Ref, "format": "v1", "content": string(text)})
		return nil
	}
	list := []transferFile{{Name: messeaf.FileName(0, t.Ref), Content: string(text)}}
	left := c.cfg.MaxBody // the limit of the importing exchange
	for _, a := range t.Attachments() {
		if left -= a.Size; left < 0 {
			return mess.Errorf(mess.TooLarge, "%s: its attachments together exceed the limit; fetch each one separately", t.Ref)
		}
		f, err := c.exportAttachment(t, a.Name)
		if err != nil {
			return err
		}
		list = append(list, f)
	}
	c.writeJSON(http.StatusOK, map[string]any{"ref": t.Ref, "format": "v2", "files": list})
	return nil
}

func (c *call) exportAttachment(t exchange.Thread, name string) (transferFile, error) {
	data, _, err := c.x.Attachment(c.r.Context(), c.actor, t.Ref, name)
	if err != nil {
		return transferFile{}, err
	}
	defer data.Close()
	all, err := io.ReadAll(data)
	return transferFile{name, base64.StdEncoding.EncodeToString(all), "base64"}, err
}

// importThread imports a thread of another exchange: YAML, {content} with YAML, or {files:
// [{name, content, encoding}]}. Only operators may, because a thread says who has requested it.
func (c *call) importThread() error {
	if c.cfg.Import == nil {
		return mess.Errorf(mess.Invalid, "this exchange keeps no files to import into")
	}
	data, yaml, err := c.readBody()
	if err != nil {
		return err
	}
	files, err := parseFiles(data, yaml)
	if err != nil {
		return err
	}
	e, err := findEnvelope(files)
	if err != nil {
		return err
	}
	byName := map[string][]byte{}
	for _, f := range files {
		one, err := f.decode(e.Ref, len(files) == 1)
		if err != nil {
			return err
		}
		if _, twice := byName[f.Name]; twice {
			return mess.Errorf(mess.Invalid, "files: %.80q is here twice; keep one", f.Name)
		}
		byName[f.Name] = one
	}
	if err := c.cfg.Import(e.Ref, byName); err != nil {
		return err
	}
	c.log().Info("imported", "ref", e.Ref, "by", c.actor.ID)
	thread := map[string]any{"ref": e.Ref, "status": e.Status}
	c.writeJSON(http.StatusCreated, map[string]any{"imported": 1, "threads": []any{thread}})
	return nil
}

// parseFiles reads the files of a body. A single text has no name yet.
func parseFiles(data []byte, yaml bool) ([]transferFile, error) {
	if yaml {
		return []transferFile{{Content: string(data)}}, nil
	}
	var v struct {
		Content string         `mess:"content"`
		Files   []transferFile `mess:"files"`
	}
	if err := mess.ReadJSON(data, &v); err != nil {
		return nil, hintYAML(err)
	}
	switch {
	case v.Content != "" && len(v.Files) > 0:
		return nil, mess.Errorf(mess.Invalid, "content and files: send one of the two")
	case v.Content != "":
		return []transferFile{{Content: v.Content}}, nil
	case len(v.Files) == 0:
		return nil, mess.Errorf(mess.Invalid, "content or files required")
	}
	return v.Files, nil
}

// findEnvelope returns the envelope of a thread, which is in its first file.
func findEnvelope(files []transferFile) (messeaf.Envelope, error) {
	for i, f := range files {
		n, _, ok := messeaf.ParseFileName(f.Name)
		if f.Name != "" && (!ok || n != 0) {
			continue
		}
		t, err := messeaf.Parse([]byte(f.Content))
		if err != nil {
			return messeaf.Envelope{}, mess.Errorf(mess.Invalid, "files[%d]: %v", i, err)
		}
		if !messeaf.ValidRef(t.Envelope.Ref) {
			return messeaf.Envelope{}, mess.Errorf(mess.Invalid, "files[%d]: %.80q cannot be the ref of a thread", i, t.Envelope.Ref)
		}
		return t.Envelope, nil
	}
	return messeaf.Envelope{}, mess.Errorf(mess.Invalid, "files: the list lacks 000-REF%s", messeaf.Ext)
}

// decode checks the name of a file and returns its content. A single text gets the name of the
// thread.
func (f *transferFile) decode(ref string, only bool) ([]byte, error) {
	if f.Name == "" && only {
		f.Name = ref + messeaf.Ext
		return []byte(f.Content), nil
	}
	_, of, ok := messeaf.ParseFileName(f.Name)
	if !messeaf.ValidAttachment(f.Name) && (!ok || of != ref) {
		return nil, mess.Errorf(mess.Invalid, "files: %.80q is not the name of a file of %s", f.Name, ref)
	}
	switch strings.ToLower(f.Encoding) {
	case "":
		return []byte(f.Content), nil
	case "base64":
		data, err := base64.StdEncoding.DecodeString(f.Content)
		if err != nil {
			return nil, mess.Errorf(mess.Invalid, "files: %s: is not base64", f.Name)
		}
		return data, nil
	}
	return nil, mess.Errorf(mess.Invalid, "files: %s: encoding %.20q is unknown; write base64, or leave it out for text", f.Name, f.Encoding)
}
