package mcp

import (
	"context"
	"errors"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/messkit/messkit/internal/cleantext"
	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

const (
	helpURI      = "mess://help"
	threadScheme = "thread://"
	yamlType     = "application/yaml"
)

func threadURI(ref string) string { return threadScheme + ref }

// addResources adds the fixed resources. Threads follow with their changes.
func (s *Server) addResources() {
	s.mcp.AddResource(&sdk.Resource{
		URI: helpURI, Name: "help", Title: "How to ask for things in the physical world", MIMEType: "text/markdown",
	}, s.readHelp)
	for _, t := range []sdk.ResourceTemplate{
		{URITemplate: "thread://{ref}", Name: "thread", Title: "A request with all of its messages", MIMEType: yamlType},
		{URITemplate: "thread://{ref}/envelope", Name: "envelope", Title: "The status and history of a request", MIMEType: yamlType},
		{URITemplate: "thread://{ref}/latest", Name: "latest", Title: "The last message of a request", MIMEType: yamlType},
	} {
		s.mcp.AddResourceTemplate(&t, s.readThread)
	}
	for _, t := range []sdk.ResourceTemplate{
		{URITemplate: "content://{ref}/{attachment}", Name: "attachment", Title: "A picture or file of a request"},
		{URITemplate: "content://{ref}/{message}/{attachment}", Name: "message-attachment", Title: "A picture or file of one message"},
	} {
		s.mcp.AddResourceTemplate(&t, s.readContent)
	}
}

func (s *Server) readHelp(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	return textResource(req.Params.URI, "text/markdown", []byte(help)), nil
}

func textResource(uri, mime string, data []byte) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: mime, Text: cleantext.Text(withoutData(string(data)))}}}
}

// Parts of a thread that are resources.
const (
	wholeThread  = ""
	envelopePart = "envelope"
	latestPart   = "latest"
)

// parseThread parses a thread:// URI.
func parseThread(uri string) (ref, part string, ok bool) {
	rest, ok := strings.CutPrefix(uri, threadScheme)
	ref, part, more := strings.Cut(rest, "/")
	return ref, part, ok && messeaf.ValidRef(ref) && (!more || part == envelopePart || part == latestPart)
}

func (s *Server) readThread(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	ref, part, ok := parseThread(uri)
	if !ok {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	t, err := s.x.Thread(ctx, ref)
	if err != nil {
		return nil, notFound(uri, err)
	}
	data, err := printThread(t, part)
	if err != nil {
		return nil, err
	}
	return textResource(uri, yamlType, append([]byte(documentOrigin(t)), data...)), nil
}

// printThread returns a thread or a part of it in MESSE-AF.
func printThread(t Thread, part string) ([]byte, error) {
	if part == envelopePart {
		return messeaf.PrintEnvelope(envelopeOfThread(t))
	}
	docs := []*strictyaml.Value{mess.WriteValue(envelopeOfThread(t))}
	var latest *strictyaml.Value
	for _, m := range t.Messages {
		docs = append(docs, document(t.Ref, m))
		if !messeaf.IsAck(m) {
			latest = docs[len(docs)-1]
		}
	}
	if part == latestPart && latest != nil {
		docs = []*strictyaml.Value{latest}
	}
	return strictyaml.YAML(docs...)
}

// envelopeOfThread returns the first document of a thread (MESSE-AF 2.1, "Envelope Fields").
// Its history comes from the messages.
func envelopeOfThread(t Thread) messeaf.Envelope {
	e := messeaf.Envelope{
		Ref: t.Ref, Requester: t.Requester, Executor: t.Executor, Status: t.Status, Intent: t.Intent, Priority: t.Priority,
		Created: mess.TimeOf(t.Created), Updated: mess.TimeOf(t.Updated),
		History: []messeaf.Entry{{Action: "created", At: mess.TimeOf(t.Created), By: t.Requester}},
	}
	for _, m := range t.Messages {
		for _, item := range m.Items {
			switch i := item.(type) {
			case *mess.Request:
				e.ClientID = i.ID
			case *mess.Status:
				e.History = append(e.History, messeaf.Entry{Action: string(i.Code), At: m.Received, By: m.From, Ref: m.Ref})
			case *mess.Reply, *mess.Answer:
				e.History = append(e.History, messeaf.Entry{Action: "replied", At: m.Received, By: m.From, Ref: m.Ref})
			}
		}
	}
	return e
}

func (s *Server) readContent(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	b, done, err := s.readFile(ctx, uri)
	if err != nil {
		return nil, notFound(uri, err)
	}
	defer done()
	if b, err = b.withoutMetadata(ctx); err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: b.servedType(), Blob: b.data}}}, nil
}

// notFound returns the MCP error for a resource that does not exist for this client.
func notFound(uri string, err error) error {
	if errors.Is(err, mess.NotFound) {
		return sdk.ResourceNotFoundError(uri)
	}
	return err
}

// subscribe checks that a client may see the thread whose changes it wants.
func (s *Server) subscribe(ctx context.Context, req *sdk.SubscribeRequest) error {
	uri := req.Params.URI
	ref, _, ok := parseThread(uri)
	if !ok {
		return sdk.ResourceNotFoundError(uri)
	}
	_, err := s.x.Thread(ctx, ref)
	return notFound(uri, err)
}
