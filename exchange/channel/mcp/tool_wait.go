package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
)

const (
	// waitTime ends before a minute, when many clients give up a call.
	waitTime    = 50 * time.Second
	maxWaitTime = 10 * time.Minute
	// beatEvery is the time between two heartbeats of a wait, which also read the thread.
	beatEvery = 15 * time.Second
)

// status returns the status of a thread, or the open threads.
func (c *call) status(ctx context.Context, raw json.RawMessage) (*sdk.CallToolResult, error) {
	a, err := parseArguments(raw)
	if err != nil {
		return nil, err
	}
	show := a.imageOptions()
	ref := strings.TrimSpace(a.text("ref"))
	if err := a.finish(); err != nil {
		return nil, err
	}
	if ref == "" {
		return c.listOpen(ctx)
	}
	t, err := c.x.Thread(ctx, ref)
	if err != nil {
		return nil, err
	}
	c.questions.markSeen(c.session(), t)
	return c.resultWithFiles(ctx, t, show, c.report(ctx, t)), nil
}

// maxOpen is the limit of open requests in a result, to spare the model.
const maxOpen = 50

// listOpen lists the open requests.
func (c *call) listOpen(ctx context.Context) (*sdk.CallToolResult, error) {
	v, err := c.query(ctx, &mess.Query{Type: "status"})
	if err != nil {
		return nil, err
	}
	addOrigins(v.Get("requests"))
	if list := v.Get("requests"); list != nil && len(list.List) > maxOpen {
		v.Add("more", strictyaml.Num(strconv.Itoa(len(list.List)-maxOpen)))
		list.List = list.List[:maxOpen]
	}
	return result(v), nil
}

// wait waits for the end of a thread, or for a question that this session has not seen. A
// question that it has seen does not end a wait. Otherwise a client that calls again while a
// person decides would call without a pause.
func (c *call) wait(ctx context.Context, raw json.RawMessage) (*sdk.CallToolResult, error) {
	a, err := parseArguments(raw)
	if err != nil {
		return nil, err
	}
	show := a.imageOptions()
	ref := a.ref()
	patience := a.seconds("timeout_seconds", waitTime, time.Second, maxWaitTime)
	if err := a.finish(); err != nil {
		return nil, err
	}
	t, err := c.x.Thread(ctx, ref)
	if err != nil {
		return nil, err
	}
	t, over, err := c.waitUntilDone(ctx, t.Ref, patience)
	if err != nil {
		return nil, err
	}
	c.questions.markSeen(c.session(), t)
	v := c.report(ctx, t)
	if over {
		v.Add("timed_out", strictyaml.Truth(true))
	}
	return c.resultWithFiles(ctx, t, show, v), nil
}

// waitUntilDone reads a thread after each change. over is true if the time ended first.
func (c *call) waitUntilDone(ctx context.Context, ref string, patience time.Duration) (_ Thread, over bool, _ error) {
	woken, leave := c.updates.subscribe(ref)
	defer leave()
	end := time.NewTimer(patience)
	defer end.Stop()
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	p := progressNotifier{call: c}
	var t Thread
	for {
		now, err := c.x.Thread(ctx, ref)
		switch {
		case errors.Is(err, mess.Unavailable) && !over: // the exchange may come back in time
		case err != nil:
			return Thread{}, false, err
		default:
			t = now
			p.report(ctx, t)
			asked := !t.Status.Terminal() && c.questions.isNew(c.session(), t)
			if asked {
				c.showPage(t)
			}
			if done := t.Status.Terminal() || asked; done || over {
				return t, !done, nil
			}
		}
		select {
		case <-ctx.Done():
			return Thread{}, false, ctx.Err()
		case <-c.ended:
			return Thread{}, false, mess.Errorf(mess.Unavailable, "messkit ends here; the request goes on")
		case <-end.C:
			over = true
		case <-beat.C:
			p.beat(ctx, t)
		case <-woken:
		}
	}
}

// progressNotifier notifies a client of the messages of a thread.
type progressNotifier struct {
	*call
	n    float64 // notifications so far, which must grow
	seen int     // messages that the client knows, or that are older
}

// report notifies of new messages. Of the messages before the wait it reports the last.
func (p *progressNotifier) report(ctx context.Context, t Thread) {
	first := ""
	for _, m := range t.Messages[min(p.seen, len(t.Messages)):] {
		line := oneLine(m)
		switch {
		case line == "":
		case p.seen == 0:
			first = line
		default:
			p.notify(ctx, line)
		}
	}
	if first != "" {
		p.notify(ctx, first)
	}
	p.seen = max(p.seen, len(t.Messages))
}

func (p *progressNotifier) beat(ctx context.Context, t Thread) {
	p.notify(ctx, "still "+strings.ReplaceAll(string(t.Status), "_", " "))
}

func (p *progressNotifier) notify(ctx context.Context, line string) {
	token := p.req.Params.GetProgressToken()
	if token == nil {
		return
	}
	p.n++
	// a call without a client ends by itself
	_ = p.req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: p.n, Message: strings.TrimSpace(line)})
}
