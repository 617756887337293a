package mcp

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/messkit/messkit/exchange"
)

// pageProvider is an exchange with a page that a person can open.
type pageProvider interface {
	// Page returns the URL of a thread on the page.
	Page(ref string) string
}

// confirmationProvider is an exchange that knows how people confirm a plan with risk.
type confirmationProvider interface {
	// ConfirmBy returns the setting, or "" if it is unknown.
	ConfirmBy(ctx context.Context) exchange.ConfirmBy
}

// confirmationHint says where a person confirms a plan with risk, as the setting of the
// exchange requires.
func (s *Server) confirmationHint(ctx context.Context) string {
	by := exchange.ConfirmBy("")
	if x, says := s.x.(confirmationProvider); says {
		by = x.ConfirmBy(ctx)
	}
	switch by {
	case exchange.ConfirmTerminal:
		return "it waits for them at a terminal of the exchange's machine and on its page"
	case exchange.ConfirmPage:
		return "it waits for them on the exchange's page"
	case exchange.ConfirmCode:
		return "the exchange's page shows them a code for it (if they give it to you, send it with mess_answer as code)"
	}
	return "it waits for an operator of the exchange"
}

// elicitTime is the time limit of showing a page.
const elicitTime = 10 * time.Minute

// showPage asks the client to show the page where a person confirms a plan with risk, by URL
// elicitation. The response of the client is never a confirmation. showPage never sends a form,
// because the client or the model could fill it in.
func (c *call) showPage(t Thread) {
	q, asks := openQuestion(t)
	x, has := c.x.(pageProvider)
	if !asks || q.status.ConfirmBy == "" || !has || c.req == nil || c.req.Session == nil {
		return
	}
	in := c.req.Session.InitializeParams()
	if in == nil || in.Capabilities == nil || in.Capabilities.Elicitation == nil || in.Capabilities.Elicitation.URL == nil {
		return
	}
	session := c.req.Session
	go func() { // the wait continues concurrently
		ctx, cancel := context.WithTimeout(context.Background(), elicitTime)
		defer cancel()
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			select {
			case <-c.ended:
				cancel()
			case <-stop:
			}
		}()
		_, err := session.Elicit(ctx, &sdk.ElicitParams{
			Mode: "url", URL: x.Page(t.Ref), ElicitationID: q.ref,
			Message: "A plan with risk waits for a person. Look at it on the page of the exchange, and confirm or refuse it there.",
		})
		if err != nil {
			c.log.Debug("the client does not show the page", "ref", t.Ref, "err", err)
		}
	}()
}
