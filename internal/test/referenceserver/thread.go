package referenceserver

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

func (c *call) register() (int, any, error) {
	id, _ := c.body["executor_id"].(string)
	if id == "" {
		return 0, nil, rejection(400, "no_id")
	}
	if !c.id.MatchString(id) {
		return 0, nil, rejection(400, "bad_id")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.executors {
		if e.exchange == c.names["ex"] && e.doc["id"] == id {
			return 0, nil, rejection(409, "taken")
		}
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	e := &executor{exchange: c.names["ex"], key: "mess_" + c.names["ex"] + "_" + hex.EncodeToString(random[:])}
	e.doc = map[string]any{"id": id, "display_name": c.body["display_name"], "capabilities": []any{}, "last_seen": c.stamp(), "created_at": c.stamp()}
	if list, ok := c.body["capabilities"].([]any); ok {
		e.doc["capabilities"] = list
	}
	c.executors = append(c.executors, e)
	return 201, map[string]any{"executor_id": id, "api_key": e.key, "message": "Save this API key - it cannot be retrieved again."}, nil
}

func (c *call) profile() (int, any, error) {
	if c.names["id"] != c.actor {
		return 0, nil, rejection(403, "not_yours")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.executors {
		if e.doc["id"] != c.actor {
			continue
		}
		for _, k := range []string{"display_name", "capabilities"} {
			if v, ok := c.body[k]; ok {
				e.doc[k] = v
			}
		}
		e.doc["last_seen"] = c.stamp()
	}
	return 200, map[string]any{"executor_id": c.actor, "updated": true}, nil
}

func (c *call) executorList() (int, any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []any{}
	for _, e := range c.executors {
		list = append(list, maps.Clone(e.doc))
	}
	return 200, map[string]any{"executors": list}, nil
}

func (c *call) create() (int, any, error) {
	intent, isText := c.body["intent"].(string)
	switch {
	case c.q.TypeErrors && c.body["intent"] != nil && !isText:
		return 0, nil, errType
	case c.body["intent"] == nil || intent == "" && isText:
		return 0, nil, rejection(400, "no_intent")
	}
	priority := c.body["priority"]
	if priority == nil {
		priority = "normal"
	}
	if word, _ := priority.(string); len(c.q.Priorities) > 0 && !slices.Contains(c.q.Priorities, word) {
		return 0, nil, rejection(400, "bad_priority")
	}
	if v, ok := c.body[c.q.AlsoHints]; ok && c.body["response_hint"] == nil {
		c.body["response_hint"] = v
	}
	request := map[string]any{}
	for _, k := range c.q.Keeps {
		if request[k] = c.body[k]; request[k] == nil {
			request[k] = []any{}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serial++
	now := c.stamp()
	t := &thread{
		Ref: fmt.Sprintf("%s-%04X", c.now().UTC().Format("2006-01-02"), c.serial), Status: "pending", Intent: c.body["intent"], Requester: c.actor,
		Priority: priority, Created: now, Updated: now, order: c.serial,
	}
	items := []any{map[string]any{"request": request}}
	if c.q.Version != "" {
		items = slices.Insert(items, 0, any(map[string]any{"v": c.q.Version}))
	}
	t.Messages = append(t.Messages, message{c.actor, now, items})
	if c.q.Acks {
		t.Messages = append(t.Messages, message{"exchange", now, []any{map[string]any{"ack": map[string]any{"re": "last", "ref": t.Ref}}}})
	}
	c.threads[t.Ref] = t
	return 201, map[string]any{"ref": t.Ref, "status": "pending"}, nil
}

// find returns a copy of the thread of the path.
func (c *call) find() (thread, error) {
	if !c.ref.MatchString(c.names["ref"]) {
		return thread{}, rejection(400, "bad_ref")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.threads[c.names["ref"]]
	if t == nil {
		return thread{}, rejection(404, "no_thread")
	}
	is := *t
	is.Messages = slices.Clone(t.Messages)
	return is, nil
}

func (c *call) thread() (int, any, error) {
	t, err := c.find()
	return 200, map[string]any{"thread": t}, err
}

// update changes a thread without a check of the transition. It decides on its first read.
func (c *call) update() (int, any, error) {
	was, err := c.find()
	if err != nil {
		return 0, nil, err
	}
	if lag, _ := c.network(); lag != nil {
		time.Sleep(lag())
	}
	status, set := c.body["status"]
	set = set && status != nil && status != "" && status != was.Status
	word, isText := status.(string)
	if set && len(c.q.Statuses) > 0 {
		if !isText {
			return 0, nil, errType
		}
		if c.q.Statuses[word] == "" {
			return 0, nil, rejection(400, "bad_status")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.threads[was.Ref]
	if !c.q.Appends {
		*t = was
	}
	items, now := c.body["mess"], c.stamp()
	if set {
		t.Status, t.Executor = status, was.Executor
		if slices.Contains(c.q.ExecutorOn, word) {
			t.Executor = &c.actor
		}
		if c.q.SaysStatus {
			s := map[string]any{"re": t.Ref, "code": word}
			if note, ok := c.body["message"].(string); ok {
				s["message"] = note
			}
			t.Messages = append(t.Messages, message{c.actor, now, []any{map[string]any{"status": s}}})
		}
	}
	if items != nil {
		t.Messages = append(t.Messages, message{c.actor, now, items})
	}
	if set || items != nil || c.q.Bumps {
		c.serial++
		t.Updated, t.order = now, c.serial
	}
	return 200, map[string]any{"ref": t.Ref, "status": t.Status}, nil
}

// list selects threads by the exact status, or by its folder.
func (c *call) list() (int, any, error) {
	wants := c.r.URL.Query()["status"]
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []thread{}
	for _, t := range c.threads {
		word, _ := t.Status.(string)
		switch {
		case len(wants) == 0:
		case len(c.q.Statuses) > 0:
			if c.q.Statuses[word] != cmp.Or(c.q.Statuses[wants[len(wants)-1]], "received") {
				continue
			}
		case len(wants) > 1 || word != wants[0]:
			continue
		}
		row := *t
		row.Messages = nil
		list = append(list, row)
	}
	slices.SortFunc(list, func(a, b thread) int { return b.order - a.order })
	return 200, map[string]any{"threads": list}, nil
}

// attachment finds {image: {name, data}} only.
func (c *call) attachment() (int, any, error) {
	t, err := c.find()
	if err != nil {
		return 0, nil, err
	}
	for _, m := range t.Messages {
		items, _ := m.MESS.([]any)
		for _, item := range items {
			o, _ := item.(map[string]any)
			response, _ := o["response"].(map[string]any)
			content, _ := response["content"].([]any)
			for _, e := range content {
				o, _ := e.(map[string]any)
				file, _ := o["image"].(map[string]any)
				if text, _ := file["data"].(string); file["name"] == c.names["file"] {
					data, err := base64.StdEncoding.DecodeString(text[strings.Index(text, ",")+1:])
					return 200, data, err
				}
			}
		}
	}
	return 0, nil, rejection(404, "no_attachment")
}
