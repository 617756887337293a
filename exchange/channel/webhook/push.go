package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/messkit/messkit/exchange/notices"
	"github.com/messkit/messkit/exchange/push"
	"github.com/messkit/messkit/internal/cleantext"
	"github.com/messkit/messkit/mess"
)

const (
	pushTTL     = time.Hour // a later notice is of no use: the bell of the page has it
	maxPushText = 300       // bytes of each text
	maxTopic    = 32        // characters
	maxUnsafe   = 8         // devices
)

var (
	errEnded   = errors.New("the browser does not take notices any more: it has to turn them on again")
	errSettled = errors.New("the notice needs nobody any more")
	errNoPush  = errors.New("this exchange sends no push messages")
)

// pushed is the payload of a push message. The service worker of the page makes the notice from it,
// in the language of the browser.
type pushed struct {
	Kind    string   `json:"kind"` // of a notice; offer, news or test
	Tag     string   `json:"tag"`  // a later message with the same tag replaces the notice
	URL     string   `json:"url"`  // where a tap leads: a path of the page
	Intent  string   `json:"intent,omitempty"`
	Text    string   `json:"text,omitempty"`
	Name    string   `json:"name,omitempty"`
	Devices []string `json:"devices,omitempty"`
}

// payloadOf returns the payload of a notification.
func payloadOf(n notification) pushed {
	p := pushed{Tag: cmp.Or(n.Thread.Ref, n.ID), URL: "/", Intent: shorten(n.Thread.Intent)}
	if n.Thread.Ref != "" {
		p.URL = "/#task/" + url.PathEscape(n.Thread.Ref)
	}
	switch n.Event {
	case testEvent:
		p.Kind, p.Intent, p.URL = testEvent, "", "/#settings"
	case createdEvent:
		p.Kind, p.URL = "offer", "/me"
	case changedEvent:
		p.Kind, p.URL = "news", "/me"
	case newsEvent:
		p.Kind, p.URL = newsEvent, "/"
	case noticeEvent:
		p.Kind, p.Text, p.Name = string(n.Notice.Kind), shorten(n.Notice.Text), shorten(n.Notice.Name)
		for _, d := range n.Notice.Devices[:min(len(n.Notice.Devices), maxUnsafe)] {
			p.Devices = append(p.Devices, shorten(d))
		}
		if n.Thread.Ref == "" {
			p.Tag, p.URL = p.Kind+" "+n.Notice.Executor, "/#executors/"+url.PathEscape(n.Notice.Executor)
		}
	}
	return p
}

// shorten returns the beginning of a long text, without hidden characters.
func shorten(text string) string {
	text = cleantext.Text(text)
	if len(text) <= maxPushText {
		return text
	}
	end := maxPushText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + " …"
}

// sendPush sends a notification to a browser once.
func (h *Dispatcher) sendPush(ctx context.Context, n notification) result {
	if h.people == nil || h.push == nil {
		return result{err: errNoPush, final: true}
	}
	all := h.people.Subscriptions(n.Executor)
	i := slices.IndexFunc(all, func(s push.Subscription) bool { return s.Endpoint == n.URL })
	if i < 0 {
		return result{err: errEnded, final: true}
	}
	p := payloadOf(n)
	data, err := json.Marshal(p)
	for err == nil && len(data) > push.MaxPayload && len(p.Devices) > 0 { // escapes make a text longer
		p.Devices = p.Devices[:len(p.Devices)-1]
		data, err = json.Marshal(p)
	}
	if err == nil && len(data) > push.MaxPayload {
		p.Text, p.Intent, p.Name = "", "", ""
		data, err = json.Marshal(p)
	}
	if err != nil {
		return result{err: err, final: true}
	}
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Timeout)
	defer cancel()
	code, err := h.push.Send(ctx, h.client, all[i], push.Message{Payload: data, TTL: pushTTL, Urgent: isUrgent(n), Topic: topicOf(n)})
	if no, ok := errors.AsType[*forbidden](err); ok {
		return result{err: no, final: true}
	}
	if err != nil {
		return result{err: err}
	}
	if code == http.StatusNotFound || code == http.StatusGone {
		h.people.EndSubscription(n.Executor, n.URL)
		return result{code: code, err: errEnded, final: true}
	}
	return resultOf(code)
}

// topicOf returns the topic of a notification: a repeated attempt replaces the earlier one.
func topicOf(n notification) string { return n.ID[:min(len(n.ID), maxTopic)] }

// isUrgent reports whether the push service wakes the device: somebody waits, or a device is not safe.
func isUrgent(n notification) bool {
	return n.Thread.Priority == mess.Urgent || n.Event == createdEvent || n.Event == testEvent ||
		n.Notice != nil && slices.Contains([]notices.Kind{notices.Question, notices.Confirmation, notices.Unsafe}, n.Notice.Kind)
}
