package webhook

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/notices"
	"github.com/messkit/messkit/mess"
)

// notification is one event for one executor at one address. The sender composes its text when
// it sends it.
type notification struct {
	ID       string    `json:"id"`
	Executor string    `json:"executor"`
	URL      string    `json:"url"`
	Event    string    `json:"event"` // thread_created, status_changed, notice, news or test
	Thread   summary   `json:"thread"`
	Made     time.Time `json:"made"`
	Due      time.Time `json:"due"` // the next attempt is not before this time
	Tries    int       `json:"tries"`
	// Push says that URL belongs to a browser that takes push messages.
	Push   bool            `json:"push,omitempty"`
	Notice *notices.Notice `json:"notice,omitempty"` // of noticeEvent

	lost bool // a full queue has dropped it during an attempt
}

// Events, with the names of the MESS reference servers.
const (
	createdEvent = "thread_created"
	changedEvent = "status_changed"
)

// summary is a thread at the time of the event.
type summary struct {
	Ref       string        `json:"ref"`
	Intent    string        `json:"intent"`
	Priority  mess.Priority `json:"priority"`
	Status    mess.Code     `json:"status"`
	Requester string        `json:"requestor_id"`
	Executor  string        `json:"executor_id,omitempty"`
	Created   string        `json:"created_at"`
	Updated   string        `json:"updated_at"`
}

// formatTime prints a time like the MESS reference servers: UTC with milliseconds.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

func summaryOf(e exchange.Envelope) summary {
	return summary{
		Ref: e.Ref, Intent: e.Intent, Priority: cmp.Or(e.Priority, mess.Normal), Status: e.Status, Requester: e.Requester, Executor: e.Executor,
		Created: formatTime(e.Created), Updated: formatTime(e.Updated),
	}
}

// statuses holds what the Dispatcher has seen last of each open thread.
type statuses map[string]seenThread

// seenThread is the last event of a thread that the Dispatcher has seen.
type seenThread struct {
	code   mess.Code
	serial int // of its message
}

// maxStatuses bounds statuses. For threads beyond it, a status in the message counts as a
// change.
const maxStatuses = 100_000

func (s statuses) set(ref string, t seenThread) {
	if delete(s, ref); !t.code.Terminal() && len(s) < maxStatuses {
		s[ref] = t
	}
}

// eventType returns the notification for an event, or "" if nothing has changed.
func (s statuses) eventType(e exchange.Event) string {
	was, known := s[e.Thread.Ref]
	s.set(e.Thread.Ref, seenThread{e.Thread.Status, e.Thread.Serial})
	has := func(kind mess.Kind) bool {
		return slices.ContainsFunc(e.Message.Items, func(i mess.Item) bool { return i.Kind() == kind })
	}
	switch {
	case !known && has(mess.KindRequest) && e.Message.From == e.Thread.Requester:
		return createdEvent
	case known && was.code != e.Thread.Status, !known && has(mess.KindStatus):
		return changedEvent
	}
	return ""
}

// queueEvent queues notifications of an event for the executors that may see the thread and
// want them.
func (h *Dispatcher) queueEvent(e exchange.Event) {
	h.mu.Lock()
	event, more := h.status.eventType(e), e.Message.From == exchange.Self && e.Thread.Ref == h.ended
	if h.ended = ""; e.Thread.Status.Terminal() {
		h.ended = e.Thread.Ref
	}
	h.mu.Unlock()
	if more { // the exchange adds to the terminal status that the last event has reported
		return
	}
	h.queueForPeople(e)
	if event == "" {
		return
	}
	now, thread := time.Now(), summaryOf(e.Thread)
	for _, ex := range h.x.NotifiableExecutors() {
		addresses := addressesOf(ex.Extra)
		if len(addresses) == 0 || exchange.IsPerson(ex.Executor) || event == createdEvent && ex.ID == e.Thread.Requester || !wantsNow(ex.Extra, thread.Priority, now) {
			continue
		}
		actor, _, ok := h.keys.Shared(ex.ID)
		if !ok || !actor.Has(exchange.ExecutorRole) || !h.x.MaySee(actor, e.Thread) {
			continue
		}
		for _, a := range addresses {
			_ = h.enqueue(notificationOf(e, event, ex.ID, target{url: a.url}, now)) // a sender alone takes events
		}
	}
}

// notificationOf returns the notification of an event.
func notificationOf(e exchange.Event, event, executor string, t target, now time.Time) notification {
	about := cmp.Or(e.Message.Ref, e.Thread.Ref)
	if event == createdEvent { // once for each thread; several messages can come with an offer
		about = e.Thread.Ref
	}
	return notification{ID: deliveryID(about, event, executor, t.url), Executor: executor, URL: t.url, Push: t.push, Event: event, Thread: summaryOf(e.Thread), Made: now, Due: now}
}

// enqueue adds a notification to its queue, unless an earlier run has done so. A full queue drops
// its oldest entry. The error is that of a store that exchanges share, for an exchange that does not send.
func (h *Dispatcher) enqueue(n notification) error {
	if h.lease != nil && h.term == 0 {
		return h.hand(n)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hasNotification(n) {
		return nil
	}
	if oldest, full := h.queues.Add(n.Executor, &n); full {
		oldest.lost = true
		h.logState(*oldest, Lost, result{err: errTooMany})
	}
	h.logState(n, Waiting, result{})
	return nil
}

// address is a notification address of an executor.
type address struct {
	ntfy   bool // it is a topic of ntfy, which takes plain text
	url    string
	secret string // "": the secret that comes from the executor's key
}

// maxAddresses is the limit for one executor. Later addresses have no effect.
const maxAddresses = 4

// addressesOf reads notifications: [{type: webhook, url, secret}], and {type: ntfy, url} of a
// topic.
func addressesOf(profile mess.Object) []address {
	v, _ := profile.Get("notifications")
	list, _ := v.([]any)
	var all []address
	for _, one := range list {
		o, _ := one.(mess.Object)
		kind := o.Text("type")
		if kind != "webhook" && kind != "ntfy" || len(all) == maxAddresses {
			continue
		}
		if url := o.Text("url"); url != "" {
			all = append(all, address{kind == "ntfy", url, o.Text("secret")})
		}
	}
	return all
}

var priorities = []mess.Priority{mess.Background, mess.Normal, mess.Elevated, mess.Urgent}

// wantsNow reports whether an executor wants notifications of a priority at this time, by
// preferences: {min_priority: normal, quiet_hours: {enabled, start: "22:00", end: "07:00"}} in
// local time. Quiet hours never hold urgent ones back, and with two equal times they never end.
func wantsNow(profile mess.Object, p mess.Priority, now time.Time) bool {
	v, _ := profile.Get("preferences")
	prefs, _ := v.(mess.Object)
	least := slices.Index(priorities, mess.Priority(prefs.Text("min_priority")))
	if least < 0 {
		least = slices.Index(priorities, mess.Normal)
	}
	v, _ = prefs.Get("quiet_hours")
	quiet, _ := v.(mess.Object)
	on, _ := quiet.Get("enabled")
	if on == true && p != mess.Urgent && isWithin(now.Hour()*60+now.Minute(), minuteOf(quiet, "start", 22*60), minuteOf(quiet, "end", 7*60)) {
		return false
	}
	return slices.Index(priorities, p) >= least
}

// minuteOf returns the minute of the day of a time such as 22:30, or of an hour such as 22.
func minuteOf(o mess.Object, key string, otherwise int) int {
	hours, minutes, has := strings.Cut(o.Text(key), ":")
	h, err := strconv.Atoi(hours)
	if err != nil || h < 0 || h > 24 {
		return otherwise
	}
	m, err := strconv.Atoi(minutes)
	if !has || err != nil || m < 0 || m > 59 {
		m = 0
	}
	return (h*60 + m) % (24 * 60)
}

// isWithin reports whether a minute lies from start to before end. If end is not later, the range
// contains midnight.
func isWithin(minute, start, end int) bool {
	if start >= end {
		return minute >= start || minute < end
	}
	return minute >= start && minute < end
}
