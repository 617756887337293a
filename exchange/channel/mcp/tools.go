package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
)

// call is one call of a tool.
type call struct {
	*Server
	req *sdk.CallToolRequest
}

// tools are the implementations of the tools, by their names in tools.json.
var tools = map[string]func(*call, context.Context, json.RawMessage) (*sdk.CallToolResult, error){
	"mess":              (*call).postMessage,
	"mess_request":      (*call).request,
	"mess_answer":       (*call).answer,
	"mess_status":       (*call).status,
	"mess_wait":         (*call).wait,
	"mess_cancel":       (*call).cancel,
	"mess_capabilities": (*call).capabilities,
}

// handler runs a tool. Every error becomes a result that a model can read.
func (s *Server) handler(name string) sdk.ToolHandler {
	run := tools[name]
	if run == nil {
		panic("mcp: tools.json has " + name + ", and nothing does it")
	}
	return func(ctx context.Context, req *sdk.CallToolRequest) (res *sdk.CallToolResult, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("tool crashed", "tool", name, "err", p, "stack", string(debug.Stack()))
				res, err = errorResult(errors.New("a mistake in messkit; its log says more")), nil
			}
		}()
		res, err = run(&call{s, req}, ctx, req.Params.Arguments)
		if err != nil && ctx.Err() != nil {
			return nil, ctx.Err() // the client has cancelled the call or disconnected
		}
		if err != nil {
			return errorResult(err), nil
		}
		return res, nil
	}
}

// result returns a value for the client as text and as JSON, without invisible characters.
func result(v *strictyaml.Value) *sdk.CallToolResult {
	cleanAll(v)
	text := withoutData(string(strictyaml.JSON(v)))
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, StructuredContent: json.RawMessage(text)}
}

// errorResult returns an error with its remedy for the client.
func errorResult(err error) *sdk.CallToolResult {
	v := object()
	r, refused := errors.AsType[*mess.Error](err)
	_, invalid := errors.AsType[mess.Problems](err)
	v.Add("error", strictyaml.Str(err.Error()))
	switch {
	case refused:
		v.Add("why", strictyaml.Str(string(r.Code)))
		addText(v, "ref", r.Ref)
		addText(v, "status", string(r.Status))
		addText(v, "executor", r.Holder)
		if len(r.Allowed) > 0 {
			v.Add("legal", mess.WriteValue(r.Allowed))
		}
	case invalid:
		v.Add("why", strictyaml.Str(string(mess.Invalid)))
	}
	res := result(v)
	res.IsError = true
	return res
}

func object() *strictyaml.Value { return &strictyaml.Value{Kind: strictyaml.Map} }

// addText adds a text that is not empty.
func addText(v *strictyaml.Value, key, text string) {
	if text != "" {
		v.Add(key, strictyaml.Str(text))
	}
}

// postMessage posts any message and returns the answer of the exchange.
func (c *call) postMessage(ctx context.Context, raw json.RawMessage) (*sdk.CallToolResult, error) {
	m, err := parseMessage(raw)
	if err != nil {
		return nil, err
	}
	answer, err := c.x.Send(ctx, m)
	if err != nil {
		return nil, err
	}
	v := document("", answer)
	addText(v, originKey, "written by the exchange, with words of requesters and executors: "+dataNotice)
	return result(v), nil
}

// request makes a request.
func (c *call) request(ctx context.Context, raw json.RawMessage) (*sdk.CallToolResult, error) {
	a, err := parseArguments(raw)
	if err != nil {
		return nil, err
	}
	m, err := requestOf(a.left)
	if err != nil {
		return nil, err
	}
	answer, err := c.x.Send(ctx, m)
	if err != nil {
		return nil, err
	}
	ack := mess.FirstAck(answer)
	if ack.Ref == "" {
		return nil, errors.New("the exchange did not acknowledge the request; call mess_status to see its requests")
	}
	v := object()
	v.Add("ref", strictyaml.Str(ack.Ref))
	addText(v, "status", string(ack.Status))
	if note, _ := ack.Extra.Get("note"); note != nil {
		addText(v, "note", fmt.Sprint(note))
	}
	v.Add("next", strictyaml.Str("accepted, and not done yet: call mess_wait with this ref"))
	return result(v), nil
}

// cancel cancels a request.
func (c *call) cancel(ctx context.Context, raw json.RawMessage) (*sdk.CallToolResult, error) {
	a, err := parseArguments(raw)
	if err != nil {
		return nil, err
	}
	item := &mess.Cancel{Re: mess.Refs{a.ref()}, Reason: a.text("reason")}
	if err := a.finish(); err != nil {
		return nil, err
	}
	answer, err := c.x.Send(ctx, mess.Message{Items: []mess.Item{item}})
	if err != nil {
		return nil, err
	}
	ack := mess.FirstAck(answer)
	v := object()
	v.Add("ref", strictyaml.Str(item.Re[0]))
	addText(v, "status", string(ack.Status))
	next := "the executor stops it and may have done a part of it: call mess_wait for the result"
	if ack.Status == mess.Cancelled {
		next = "it had not begun and has no effect"
		if t, err := c.x.Thread(ctx, item.Re[0]); err != nil || mayHaveBegun(t) {
			next = "the exchange has cancelled it, but an executor may have begun: call mess_wait for the result"
		}
	}
	v.Add("next", strictyaml.Str(next))
	return result(v), nil
}

// mayHaveBegun reports whether the effect of a cancelled thread is unknown.
func mayHaveBegun(t Thread) bool {
	s, _ := mess.LastStatus(t.Messages)
	return s.HasUnknownEffect()
}

// capabilities returns the capabilities and the executors.
func (c *call) capabilities(ctx context.Context, raw json.RawMessage) (*sdk.CallToolResult, error) {
	a, err := parseArguments(raw)
	if err != nil {
		return nil, err
	}
	filter := &mess.Filter{}
	if tag := a.text("tag"); tag != "" {
		filter.Tags = []string{tag}
	}
	if err := a.finish(); err != nil {
		return nil, err
	}
	v, err := c.query(ctx, &mess.Query{Type: "capabilities", Filter: filter}, &mess.Query{Type: "executors"})
	if err != nil {
		return nil, err
	}
	addText(v, originKey, "the executors with these ids wrote the names and descriptions: "+dataNotice)
	return result(v), nil
}

// query queries the exchange and returns one object with all answers.
func (c *call) query(ctx context.Context, queries ...mess.Item) (*strictyaml.Value, error) {
	answer, err := c.x.Send(ctx, mess.Message{Items: queries})
	if err != nil {
		return nil, err
	}
	v := object()
	for _, item := range answer.Items {
		r, ok := item.(*mess.Response)
		if !ok {
			continue
		}
		for _, e := range r.Content {
			if e.Type == "structured" {
				v.Pairs = append(v.Pairs, mess.WriteValue(e.Value).Pairs...)
			}
		}
	}
	return v, nil
}
