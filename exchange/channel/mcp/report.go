package mcp

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// maxMessages is the number of messages in a report. The resource has all of them.
const maxMessages = 12

// report returns a thread for a model: its status, its messages, and the next step.
func (s *Server) report(ctx context.Context, t Thread) *strictyaml.Value {
	v := summary(t)
	next := "not done yet: call mess_wait with this ref"
	if q, ok := openQuestion(t); ok {
		var needs *strictyaml.Value
		needs, next = q.needs(s.confirmationHint(ctx))
		addText(needs, originKey, questionOrigin(t, q))
		v.Add("needs", needs)
	} else if t.Status.Terminal() {
		next = outcomeText(t)
	}
	v.Add("next", strictyaml.Str(next))
	messages := reportedMessages(t)
	if n := len(messages) - maxMessages; n > 0 {
		v.Add("earlier", strictyaml.Str(fmt.Sprintf("%d messages, in the resource %s", n, threadURI(t.Ref))))
		messages = messages[n:]
	}
	list := &strictyaml.Value{Kind: strictyaml.List}
	for _, m := range messages {
		list.List = append(list.List, briefMessage(t.Ref, m))
	}
	v.Add("messages", list)
	return v
}

// summary returns a thread without its messages.
func summary(t Thread) *strictyaml.Value {
	v := object()
	v.Add("ref", strictyaml.Str(t.Ref))
	v.Add("status", strictyaml.Str(string(t.Status)))
	addText(v, "intent", t.Intent)
	addText(v, "intent_origin", intentOrigin(t))
	addText(v, "executor", t.Executor)
	addText(v, "updated", string(mess.TimeOf(t.Updated)))
	return v
}

// reportedMessages returns the messages of a thread without its request, its acks and all but
// the last of consecutive progress reports.
func reportedMessages(t Thread) []mess.Message {
	var list []mess.Message
	for _, m := range t.Messages {
		switch {
		case !messeaf.Numbered(m):
		case len(list) > 0 && isProgress(m) && isProgress(list[len(list)-1]):
			list[len(list)-1] = m
		default:
			list = append(list, m)
		}
	}
	return list
}

func isProgress(m mess.Message) bool {
	if len(m.Items) != 1 {
		return false
	}
	s, ok := m.Items[0].(*mess.Status)
	return ok && s.Code == mess.InProgress
}

// proofKeys are fields for programs, which the resource has.
var proofKeys = []string{"receipt", "instance", "epoch", "sha256"}

// briefMessage returns the fields of a message that a model needs.
func briefMessage(thread string, m mess.Message) *strictyaml.Value {
	doc, v := document(thread, m), object()
	for _, key := range []string{"ref", "from", "received"} {
		if one := doc.Get(key); one != nil {
			v.Add(key, one)
		}
	}
	items := doc.Get("MESS")
	removeKeys(items, proofKeys)
	addText(v, originKey, messageOrigin(m))
	v.Add("mess", items)
	return v
}

// removeKeys removes keys at any depth.
func removeKeys(v *strictyaml.Value, keys []string) {
	for _, one := range v.List {
		removeKeys(one, keys)
	}
	kept := v.Pairs[:0:0]
	for _, p := range v.Pairs {
		if !slices.Contains(keys, p.Key) {
			removeKeys(p.Value, keys)
			kept = append(kept, p)
		}
	}
	v.Pairs = kept
}

// outcomeText explains the terminal status of a thread.
func outcomeText(t Thread) string {
	s, _ := mess.LastStatus(t.Messages)
	switch {
	case s.HasUnknownEffect():
		return "it has ended and its effect is unknown: have a person check before anyone requests it again"
	case t.Status == mess.Completed && s != nil && s.Evidence != "":
		return "the executor reports success; evidence: " + strings.ReplaceAll(string(s.Evidence), "_", " ")
	case t.Status == mess.Completed:
		return "the executor reports success"
	}
	return "it has ended without the requested result; the messages give the reason"
}

// oneLine returns a message as a line of progress, or "".
func oneLine(m mess.Message) string {
	for _, item := range m.Items {
		switch i := item.(type) {
		case *mess.Status:
			words := []string{strings.ReplaceAll(string(i.Code), "_", " ")}
			if i.Code == mess.Claimed {
				words = append(words, "by", m.From)
			}
			if i.ProgressPct != nil {
				words = append(words, strconv.FormatFloat(*i.ProgressPct, 'f', 0, 64)+" %")
			}
			if i.Message+i.Action != "" {
				words = append(words, "("+m.From+" says:", strings.TrimSpace(i.Message+" "+i.Action)+")")
			}
			return cleanLine(strings.Join(words, " "))
		case *mess.Response:
			return cleanLine("response from " + m.From)
		}
	}
	return ""
}
