package mcp_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mcp"
	"github.com/messkit/messkit/mess"
)

// pageProvider is an exchange with a page.
type pageProvider struct{ mcp.Exchange }

func (pageProvider) Page(ref string) string { return "http://127.0.0.1:8420/#task/" + ref }

// The server asks the client to show the page on which a person confirms. The action "accept" of
// the client is no confirmation, and the server never sends a form.
func TestConfirmationIsShownOnPageOnly(t *testing.T) {
	for name, can := range map[string]*sdk.ElicitationCapabilities{
		"url": {URL: &sdk.URLElicitationCapabilities{}, Form: &sdk.FormElicitationCapabilities{}}, "form": {Form: &sdk.FormElicitationCapabilities{}}, "none": nil,
	} {
		h := newHarness(t)
		shown := make(chan *sdk.ElicitParams, 16)
		c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
			Capabilities: &sdk.ClientCapabilities{Elicitation: can},
			ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				shown <- r.Params
				return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}, nil
			},
		})
		g := &mcpClient{harness: h}
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		s := mcp.New(pageProvider{mcp.LocalExchange(h.x, model)}, "1", slog.New(slog.DiscardHandler))
		g.ended.Go(func() {
			if err := s.Serve(context.Background(), in, out); err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
		var err error
		if g.ClientSession, err = c.Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = g.Close(); g.ended.Wait() })

		g.mustCall("mess_wait", map[string]any{"ref": g.request("confirm")}) // the requester itself confirms
		ref := g.request("operator")
		waited := g.mustCall("mess_wait", map[string]any{"ref": ref}).text
		if name == "url" {
			p := <-shown
			if p.Mode != "url" || p.URL != (pageProvider{}).Page(ref) || p.RequestedSchema != nil {
				t.Errorf("the elicitation is %+v, want the address of the page", p)
			}
		}
		if status := g.mustCall("mess_status", map[string]any{"ref": ref}).field("status"); status != string(mess.NeedsConfirmation) {
			t.Errorf("%s: it is %s after the client has accepted", name, status)
		}
		for _, text := range []string{
			waited, g.mustCall("mess_status", map[string]any{"ref": ref}).text,
			g.call("mess_answer", map[string]any{"ref": ref, "confirm": true}).text,
		} {
			if strings.Contains(text, "messkit ") || strings.Contains(text, "--yes") { // a model may have a shell
				t.Errorf("%s: a result names a command: %s", name, text)
			}
		}
		if len(shown) > 0 {
			t.Errorf("%s: it is shown %+v", name, <-shown)
		}
	}
}

// setting is an exchange that confirms in one way.
type setting struct {
	mcp.Exchange
	by exchange.ConfirmBy
}

func (s setting) ConfirmBy(context.Context) exchange.ConfirmBy { return s.by }

// A model reads where its exchange has a confirmation done; it reads of a code only where
// there are codes.
func TestHintNamesConfirmationSetting(t *testing.T) {
	for by, want := range map[exchange.ConfirmBy]string{
		exchange.ConfirmTerminal: "at a terminal of the exchange's machine and on its page",
		exchange.ConfirmPage:     "waits for them on the exchange's page",
		exchange.ConfirmCode:     "send it with mess_answer as code",
		exchange.ConfirmScript:   "waits for an operator",
		"":                       "waits for an operator",
	} {
		h := newHarness(t)
		g := h.connectTo(setting{mcp.LocalExchange(h.x, model), by})
		next := g.mustCall("mess_wait", map[string]any{"ref": g.request("operator")}).field("next")
		if !strings.Contains(next, want) || strings.Contains(next, "code") != (by == exchange.ConfirmCode) {
			t.Errorf("%q: %s", by, next)
		}
	}
}
