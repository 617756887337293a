package mesh

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// sendTask sends a task to a peer: its text, its MESS message and its files.
func (as *assignments) sendTask(ctx context.Context, p *peers.Agent, g assignment, th exchange.Thread) error {
	req := th.Request()
	s := Sending{To: p.Name, Type: wire.Request, Body: req.Intent, id: g.Ask, until: time.Now().Add(taskTime), TTL: int64(taskTime / time.Second)}
	if !th.Expires.IsZero() {
		s.TTL = max(1, min(s.TTL, int64(time.Until(th.Expires)/time.Second)))
		req.NeededBy = mess.TimeOf(th.Expires.UTC())
	}
	switch req.Priority {
	case mess.Elevated, mess.Urgent:
		s.Priority = wire.High
	case mess.Background:
		s.Priority = wire.Low
	}
	content := req.Context
	req.ID, req.Context = "", nil // the peer uses the id of our message, and gets the files as attachments
	if req.Constraints != nil {
		c := *req.Constraints
		c.DependsOn = nil // the exchange has waited for them already
		req.Constraints = &c
	}
	for _, e := range content {
		media, ok := e.Media()
		if !ok || media.File == "" {
			req.Context = append(req.Context, e)
			continue
		}
		data, err := as.files.attachmentAs(ctx, p.Executor(), g.Ref, media.File)
		if err != nil {
			return err
		}
		s.Files = append(s.Files, Attached{Name: media.File, MIME: media.MIME, Data: data, About: media.Extra.Text(descriptionKey)})
	}
	if !p.Encrypts(false) { // metadata are not encrypted
		s.Metadata = relayedMetadata(req.Extra).Without(messKey)
	}
	s.MESS = string(jsonOf(mess.Message{Items: []mess.Item{&req}}))
	_, err := as.requests.sendOne(ctx, p, s)
	return err
}

// follow posts the messages of the peer to the thread until the task has ended.
func (as *assignments) follow(ctx context.Context, p *peers.Agent, g assignment) error {
	for {
		now, ok := as.get(g.Ref)
		if !ok {
			return nil
		}
		g = now
		a, changed, ok := as.requests.now(g.Ask)
		if !ok {
			return as.forget(ctx, g.Ref)
		}
		over, err := as.relay(ctx, p, &g, a)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && unavailable(err):
			as.log.Warn("mesh: the exchange is unavailable for a message of a peer; the adapter tries again", "ref", g.Ref, "err", err)
			wait.For(ctx, tryAgain)
			continue
		case err != nil:
			as.log.Warn("mesh: the exchange rejects a message of a peer about its task", "ref", g.Ref, "peer", p.Name, "err", err)
			if th, err := as.x.Thread(ctx, p.Executor(), g.Ref); err == nil && th.Status.Terminal() {
				return as.forget(ctx, g.Ref)
			}
		case over:
			return as.forget(ctx, g.Ref)
		}
		late := time.NewTimer(remembered)
		select {
		case <-changed:
		case <-late.C:
		case <-ctx.Done():
		}
		late.Stop()
		if ctx.Err() != nil {
			return nil
		}
	}
}

// relay posts the changes of our request to the thread, and reports whether the assignment is
// over.
func (as *assignments) relay(ctx context.Context, p *peers.Agent, g *assignment, a outgoingRequest) (over bool, err error) {
	if a.Result != nil {
		return true, as.relayResult(ctx, p, *g, a)
	}
	if a.Acked != g.Acked && g.Over.IsZero() {
		g.Acked = a.Acked
		if err := as.save(ctx, *g); err != nil {
			return false, err
		}
		if err := as.relayAck(ctx, p, *g); err != nil {
			return false, err
		}
	}
	for _, q := range a.Questions {
		if q.Answered || !g.Over.IsZero() || slices.ContainsFunc(g.Posed, func(one relayedQuestion) bool { return one.ID == q.ID }) {
			continue
		}
		one, s := localQuestion(q)
		if err := as.post(ctx, p, *g, q.ID, s); err != nil {
			return false, err
		}
		g.Posed = append(slices.Clone(g.Posed), one)
		if err := as.save(ctx, *g); err != nil {
			return false, err
		}
	}
	refused := strings.HasPrefix(a.Delivery, "client_error_")
	if !g.Over.IsZero() || a.Failed == "" && !refused {
		return false, nil
	}
	s := &mess.Status{Code: mess.Failed, Recoverable: new(false), Suggestion: "look before retrying", Reason: &mess.Reason{
		Type: "no_answer", Effect: mess.EffectUnknown, Detail: p.Name + " has not answered in time",
	}}
	if l, ok, err := as.store.RemoveDeadLetter(g.Ask, p.Name); err != nil {
		return false, err
	} else if ok && l.Attempts == 0 || refused { // the peer has not received the message, or has rejected it
		s = &mess.Status{Code: mess.Failed, Recoverable: new(true), Reason: &mess.Reason{Type: "not_sent", Effect: mess.EffectNone, Detail: "the message did not reach " + p.Name + ": " + a.Delivery}}
	}
	if err := as.post(ctx, p, *g, "", s); err != nil {
		return false, err
	}
	g.Over = time.Now()
	return refused, as.save(ctx, *g)
}

// relayAck posts an ack of the peer as progress. It posts nothing while the thread waits for an
// answer, because progress would end the wait.
func (as *assignments) relayAck(ctx context.Context, p *peers.Agent, g assignment) error {
	th, err := as.x.Thread(ctx, p.Executor(), g.Ref)
	if err != nil || th.Status != mess.InProgress {
		return err
	}
	err = as.post(ctx, p, g, "", &mess.Status{Code: mess.InProgress, Message: g.Acked})
	if err != nil && !unavailable(err) {
		as.log.Debug("mesh: an ack is not in the thread", "ref", g.Ref, "err", err)
		return nil
	}
	return err
}

// localQuestion converts a question of a peer to a status of the thread.
func localQuestion(q counterQuestion) (relayedQuestion, *mess.Status) {
	if m, err := mess.Parse([]byte(q.MESS)); q.MESS != "" && err == nil {
		for _, item := range m.Items {
			if s, ok := item.(*mess.Status); ok && s.Code == mess.NeedsConfirmation {
				return relayedQuestion{q.ID, q.ID}, &mess.Status{Code: mess.NeedsConfirmation, Action: s.Action, ActionHash: q.ID, Consequences: s.Consequences}
			}
		}
	}
	return relayedQuestion{ID: q.ID}, &mess.Status{Code: mess.NeedsInput, Questions: []mess.Question{{Field: "answer", Question: q.Text}}}
}

// forward sends a message of the requester to the peer. An answer is for the last question of the
// peer.
func (as *assignments) forward(ctx context.Context, p *peers.Agent, g assignment, item mess.Item) error {
	text := ""
	switch i := item.(type) {
	case *mess.Cancel:
		return as.withdraw(ctx, p, g, i.Reason)
	case *mess.Reply:
		switch {
		case i.Confirm != nil && *i.Confirm:
			text = "yes"
		case i.Confirm != nil:
			text = "no"
		case len(i.Answers) == 1:
			text = answerText(i.Answers[0].Value)
		default:
			var lines []string
			for _, f := range i.Answers {
				lines = append(lines, f.Key+": "+answerText(f.Value))
			}
			text = strings.Join(lines, "\n")
		}
	case *mess.Answer:
		text = answerText(i.Value)
	}
	if len(g.Posed) == 0 || text == "" {
		return nil
	}
	_, err := as.requests.sendOne(ctx, p, Sending{To: p.Name, Type: wire.Response, Body: text, Correlation: g.Posed[len(g.Posed)-1].ID, Priority: wire.High})
	return err
}

func answerText(v any) string {
	switch one := v.(type) {
	case string:
		return one
	case bool:
		return map[bool]string{true: "yes", false: "no"}[one]
	}
	return fmt.Sprint(v)
}

// withdraw cancels a task. A task that has not reached the peer ends at once. Otherwise the
// adapter asks the peer to cancel, and the peer reports the end.
func (as *assignments) withdraw(ctx context.Context, p *peers.Agent, g assignment, reason string) error {
	if l, ok, err := as.store.RemoveDeadLetter(g.Ask, p.Name); err != nil {
		return err
	} else if ok && l.Attempts == 0 {
		err := as.post(ctx, p, g, "", as.withdrawnStatus(ctx, p, g))
		return errors.Join(err, as.forget(ctx, g.Ref))
	}
	s := Sending{To: p.Name, Type: wire.Notification, Subject: strings.TrimSuffix("cancel: "+reason, ": "), Body: "cancel", Correlation: g.Ask, Priority: wire.High}
	_, err := as.requests.sendOne(ctx, p, s)
	return err
}

// withdrawnStatus returns the terminal status of a task that was cancelled before it reached the
// peer.
func (as *assignments) withdrawnStatus(ctx context.Context, p *peers.Agent, g assignment) *mess.Status {
	s := &mess.Status{Code: mess.Cancelled, Reason: &mess.Reason{Type: "cancelled", Detail: "it was withdrawn before it reached " + p.Name, Effect: mess.EffectNone}}
	if th, err := as.x.Thread(ctx, p.Executor(), g.Ref); err == nil && th.CancelBy == "" { // a stop has ended it, and no cancel
		s.Code, s.Recoverable = mess.Failed, new(true)
	}
	return s
}

// relayResult ends the thread with the response of the peer.
func (as *assignments) relayResult(ctx context.Context, p *peers.Agent, g assignment, a outgoingRequest) error {
	r := a.Result
	status, content := &mess.Status{Code: mess.Code(r.Status), Evidence: mess.Acknowledged}, []mess.Entry(nil)
	if m, err := parseMess(r.MESS); r.MESS != "" && err == nil {
		for _, item := range m.Items {
			switch one := item.(type) {
			case *mess.Status:
				if one.Code.Terminal() || !status.Code.Terminal() {
					status = new(*one)
				}
			case *mess.Response:
				content = append(content, one.Content...)
			}
		}
	}
	th, err := as.x.Thread(ctx, p.Executor(), g.Ref)
	if err != nil {
		return err
	}
	status = localStatus(*status, r, th)
	if content == nil {
		content = []mess.Entry{mess.TextEntry(r.Body)}
	}
	answer := &mess.Response{Notes: strings.Join(r.Notes, "; ")}
	if answer.Content, err = as.attachFiles(ctx, p, g, a, content); err != nil {
		return err
	}
	var meta mess.Object
	if len(r.Metadata) > 0 && json.Unmarshal(r.Metadata, &meta) == nil {
		answer.Extra = answer.Extra.Set(channel, mess.Object{{Key: "metadata", Value: meta}})
	}
	err = as.post(ctx, p, g, r.ID, status, answer)
	return err
}

// localStatus converts the terminal status of a peer to one that a started task can have here.
func localStatus(s mess.Status, r *Result, th exchange.Thread) *mess.Status {
	was := s.Code
	s.Re, s.Epoch, s.Instance, s.ID, s.Executor = nil, 0, "", "", ""
	if !s.Code.Terminal() && was != unreadable { // the peer does not speak MESS, and its response completes the task
		s.Code = mess.Completed
	}
	if s.Code == mess.Cancelled && th.CancelBy != "" {
		return &s
	}
	switch s.Code {
	case mess.Completed, mess.Partial, mess.Failed:
	default:
		s.Code = mess.Failed
		if s.Reason == nil {
			s.Reason = &mess.Reason{Detail: r.Body, Effect: mess.EffectUnknown}
			if was == mess.Declined || was == mess.Expired {
				s.Reason.Effect = mess.EffectNone
			}
		}
		reason := *s.Reason
		reason.Type = string(was)
		s.Reason = &reason
	}
	if s.Code == mess.Failed && s.Reason == nil {
		s.Reason = &mess.Reason{Detail: r.Body, Effect: mess.EffectUnknown}
	}
	if s.Code == mess.Partial && s.Completed == nil && s.Remaining == nil {
		s.Completed = []any{r.Body}
	}
	return &s
}

// attachFiles adds the files of a response to the thread, and returns the content with them. Files
// that the content does not name follow at its end.
func (as *assignments) attachFiles(ctx context.Context, p *peers.Agent, g assignment, a outgoingRequest, content []mess.Entry) (list []mess.Entry, err error) {
	left := slices.Clone(a.Result.Files)
	attach := func(name string, was mess.Media, kind string) error {
		data, err := as.files.savedFile(a.ID, name)
		if err != nil {
			return err
		}
		what := mime.TypeByExtension(path.Ext(name))
		if what == "" {
			what = http.DetectContentType(data)
		}
		media, err := as.x.Attach(ctx, p.Executor(), g.Ref, name, what, bytes.NewReader(data))
		if err != nil {
			return err
		}
		media.CapturedAt, media.Extra = was.CapturedAt, was.Extra
		if text := a.Result.Descriptions[name]; text != "" {
			media.Extra = media.Extra.Set(descriptionKey, text)
		}
		if top, _, _ := strings.Cut(what, "/"); kind == "" {
			if kind = "file"; top == "image" || top == "audio" || top == "video" {
				kind = top
			}
		}
		list = append(list, mess.MediaEntry(kind, media))
		return nil
	}
	for _, e := range content {
		media, ok := e.Media()
		i := slices.Index(left, media.File)
		switch {
		case !ok || media.File == "":
			list = append(list, e)
		case i < 0:
			list = append(list, mess.TextEntry("["+e.Type+" "+media.File+" has not come]"))
		default:
			left = slices.Delete(left, i, i+1)
			if err := attach(media.File, media, e.Type); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range left {
		if err := attach(name, mess.Media{}, ""); err != nil {
			return nil, err
		}
	}
	return list, nil
}
