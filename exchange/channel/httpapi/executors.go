package httpapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi/once"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/mess"
)

// parseProfile reads a registration as existing clients send it. Fields that are not MESS, such
// as notifications, hooks and preferences, stay in it.
func (c *call) parseProfile(id string, body mess.Object) (*mess.Executor, error) {
	profile := mess.Object{{Key: "id", Value: id}}
	for _, f := range body {
		switch f.Key {
		case "executor_id", "id":
			if f.Value != nil && f.Value != id {
				return nil, mess.Errorf(mess.Invalid, "%s: is not %s, whom this is about; leave it out", f.Key, id)
			}
		case "enrol":
		case "display_name":
			profile = profile.Set("name", f.Value)
		default:
			profile = profile.Set(f.Key, f.Value)
		}
	}
	m, err := c.messageOfItems([]any{mess.Object{{Key: "config", Value: mess.Object{{Key: "executor", Value: profile}}}}})
	if err == nil {
		err = m.Validate()
	}
	if err != nil {
		if _, field := body.Get("display_name"); field {
			err = renamePath(err, "[0].config.executor.name", "display_name")
		}
		return nil, err
	}
	e := m.Items[0].(*mess.Config).Executor
	return e, exchange.ValidateExecutor(*e) // before the actor gets a key
}

// profileFields are the known fields of a registration, here or at the MESS reference servers.
var profileFields = []string{
	"executor_id", "id", "enrol", "display_name", "name", "capabilities", "availability", "schedule", "versions", "holding", "instance", "stopped", "held", "states",
	"receipt_key", "disarmed", mess.FailingField, "areas", "access", "location", "latency", "precision", "notifications", "hooks", "preferences",
}

// unknownFields returns the unknown fields of a body. One of them may be a typing error, so the
// response lists them.
func unknownFields(body mess.Object, meant []string) []string {
	var list []string
	for _, f := range body {
		if !slices.Contains(meant, f.Key) {
			list = append(list, truncate(f.Key))
		}
	}
	return list
}

// withUnknown adds the unknown fields of a body to a response.
func withUnknown(answer map[string]any, body mess.Object, meant []string) map[string]any {
	if list := unknownFields(body, meant); list != nil {
		answer["unknown"] = list
	}
	return answer
}

// updateProfile changes the caller's own registration. {} is a heartbeat.
func (c *call) updateProfile(id string) error {
	if id != c.actor.ID {
		return mess.Errorf(mess.Forbidden, "Can only update your own profile")
	}
	body, err := c.readObject()
	if err != nil {
		return err
	}
	e, err := c.parseProfile(id, body)
	if err != nil {
		return err
	}
	says := slices.ContainsFunc(body, func(f mess.Field) bool { return f.Key != "executor_id" && f.Key != "id" })
	switch asks := len(e.Capabilities) == 0 && !c.x.IsRegistered(id); {
	case asks && says:
		return mess.Errorf(mess.NotYet, "%s is no registered executor; send its capabilities as well", id)
	case !asks: // a heartbeat of a requester registers no executor
		if _, err := c.post(mess.Message{Items: []mess.Item{&mess.Config{Executor: e}}}); err != nil {
			return err
		}
	}
	c.writeJSON(http.StatusOK, withUnknown(map[string]any{"executor_id": id, "updated": true}, body, profileFields))
	return nil
}

func (c *call) executors() error {
	list := []map[string]any{}
	for _, e := range c.x.Executors() {
		list = append(list, c.executorEntry(e))
	}
	c.writeJSON(http.StatusOK, map[string]any{"executors": list})
	return nil
}

// executor returns one executor with its card.
func (c *call) executor(id string) error {
	e, ok := c.x.Executor(id)
	if !ok {
		return mess.Errorf(mess.NotFound, "there is no executor %.60q; GET executors lists them", id)
	}
	v := c.executorEntry(e)
	v["card"] = executorCard(e.Executor)
	c.writeJSON(http.StatusOK, v)
	return nil
}

// cardFields are the messkit extensions that a card shows. Other fields may contain secrets,
// such as the addresses of webhooks.
var cardFields = []string{"receipt_key", "disarmed", "areas", "access", "location", "latency", "precision"}

// executorCard returns the registration of an executor without its current state.
func executorCard(e mess.Executor) mess.Executor {
	e.Holding, e.Instance, e.Stopped, e.Drained, e.States = nil, "", nil, nil, nil
	e.Extra = slices.DeleteFunc(slices.Clone(e.Extra), func(f mess.Field) bool { return !slices.Contains(cardFields, f.Key) })
	return e
}

// executorEntry returns an executor as the caller may see it.
func (c *call) executorEntry(e exchange.ExecutorInfo) map[string]any {
	v := executorJSON(e)
	if failing := e.FailingDevices(); failing != nil && c.actor.Has(exchange.Operator) {
		v[mess.FailingField] = failing
	}
	return v
}

// deregister removes an executor from the lists. stopping is the number of stops that it has
// not confirmed, and gets if it comes back.
func (c *call) deregister(id string) error {
	stops, err := c.x.Deregister(c.r.Context(), c.actor, id)
	if err == nil {
		c.writeJSON(http.StatusOK, map[string]any{"executor_id": id, "forgotten": true, "stopping": stops})
	}
	return err
}

func executorJSON(e exchange.ExecutorInfo) map[string]any {
	caps := e.Capabilities
	if caps == nil {
		caps = []mess.Capability{}
	}
	v := map[string]any{
		"id": e.ID, "display_name": e.Name, "capabilities": caps, "last_seen": formatTime(e.LastSeen), "created_at": formatTime(e.Created),
		"live": e.Live,
	}
	if e.Stopped != nil && e.Stopped.Reason != "" {
		v["stopped"] = e.Stopped
	}
	if len(e.UnconfirmedStops) > 0 {
		v["stopping"] = e.UnconfirmedStops
	}
	if e.Drained != nil && e.Drained.Reason != "" {
		v["held"] = e.Drained
	}
	if e.Drain != nil {
		v["hold"] = e.Drain
	}
	if e.Resume != nil {
		v["resume"] = e.Resume
	}
	if e.Availability != "" {
		v["availability"] = e.Availability
	}
	if reason, _ := e.Extra.Get("disarmed"); reason != nil && reason != "" {
		v["disarmed"] = reason
	}
	if e.Schedule != "" {
		v["schedule"] = e.Schedule
	}
	if e.Claims > 0 {
		v["claims"] = e.Claims
	}
	if software := e.Software(); software != "" {
		v[mess.SoftwareField] = software
	}
	if battery := e.Battery(); battery != nil {
		v[mess.BatteryField] = battery
	}
	return v
}

func (c *call) capabilities() error {
	q, err := c.readQuery()
	if err != nil {
		return err
	}
	list := []map[string]any{}
	for _, d := range c.x.Capabilities(q["tag"]) {
		tags := d.Tags
		if tags == nil {
			tags = []string{}
		}
		list = append(list, map[string]any{"id": d.ID, "description": d.Description, "tags": tags})
	}
	c.writeJSON(http.StatusOK, map[string]any{"capabilities": list})
	return nil
}

// maxProfile is the limit of a registration, in bytes.
const maxProfile = 64 << 10

// register gives a key to an executor or a requester.
func (c *call) register() error {
	if err := c.checkLength(maxProfile); err != nil {
		return err
	}
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, maxProfile) // from a sender without authentication
	body, err := c.readObject()
	if err != nil {
		return err
	}
	id, err := textField(body, "executor_id")
	if err != nil {
		return err
	}
	if id == "" {
		return mess.Errorf(mess.Invalid, "executor_id required")
	}
	if !mess.ValidID(id) {
		return mess.Errorf(mess.Invalid, "executor_id: %.60q cannot be an id; use letters, digits and . _ : @ -", id)
	}
	code, err := textField(body, "enrol")
	if err != nil {
		return err
	}
	g, failed, err := c.authorizeRegistration(id, code)
	if err != nil {
		return err
	}
	if err := c.registerActor(id, g, body); err != nil {
		failed()
		return err
	}
	return nil
}

// registerActor registers an actor with the granted rights.
func (c *call) registerActor(id string, g keys.Grant, body mess.Object) error {
	e, err := c.parseProfile(id, body)
	if err != nil {
		return err
	}
	// A registered actor without a key uses another channel, or this process.
	if _, known := c.x.Executor(id); known && !c.isCallerOperator() {
		return mess.Errorf(mess.Conflict, "executor %s has registered already; if you lost its key, an operator can register it again", id)
	}
	if len(e.Capabilities) > 0 && g.Roles&exchange.ExecutorRole == 0 {
		return mess.Errorf(mess.Forbidden, "capabilities: this code lets %s ask, and be no executor; an operator makes a code for its name, or with the role executor", id)
	}
	enroll := c.keys.Enroll
	if c.isCallerOperator() && id != keys.OperatorID {
		enroll = func(id string, g keys.Grant) (string, error) { return c.keys.Rotate(id, g.Roles) } // the old key ends
	}
	key, err := enroll(id, g)
	if err != nil {
		return err
	}
	c.actor = exchange.Actor{ID: id, Roles: g.Roles}
	if len(e.Capabilities) > 0 { // without capabilities, the actor is only a requester
		if _, err := c.post(mess.Message{Items: []mess.Item{&mess.Config{Executor: e}}}); err != nil {
			_, revoked := c.keys.Revoke(id)
			return errors.Join(err, revoked)
		}
	}
	c.log().Info("registered", "actor", id)
	c.writeJSON(http.StatusCreated, withUnknown(map[string]any{"executor_id": id, "api_key": key, "message": shownOnce}, body, profileFields))
	return nil
}

// order posts the body as an order to executors, once for its Idempotency-Key, and answers with a part of
// the acknowledgment.
func (c *call) order(name string, part func(mess.Ack) any) error {
	body, err := io.ReadAll(c.r.Body)
	if err != nil {
		return c.bodyError(err)
	}
	c.r.Body = io.NopCloser(bytes.NewReader(body))
	return c.carryOutOnce(body, func() error {
		ack, err := c.postOrder(name)
		if err == nil {
			c.writeJSON(http.StatusAccepted, part(ack))
		}
		return err
	})
}

// carryOutOnce calls do, which changes something and answers to c.w. A repeated request with the same
// Idempotency-Key gets the first answer instead.
func (c *call) carryOutOnce(body []byte, do func() error) error {
	key, err := c.idempotencyKey()
	if err != nil {
		return err
	}
	if key == "" {
		return do()
	}
	request := slices.Concat([]byte(c.r.Method+" "+c.r.URL.EscapedPath()+"\n"), body)
	was := c.w
	defer func() { c.w = was }()
	err = c.answers.Serve(c.r.Context(), c.w, c.actor.ID, key, request, func(w http.ResponseWriter) error {
		c.w = w
		return do()
	})
	if errors.Is(err, once.ErrOther) {
		return mess.Errorf(mess.Conflict, "Idempotency-Key: %s belongs to another request; make a new key for each", key)
	}
	return err
}
