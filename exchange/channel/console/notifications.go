package console

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

const (
	notificationsKey = "notifications" // the field of config.executor that existing clients use
	prefsKey         = "preferences"
	maxAddresses     = 4    // per executor; later ones have no effect
	maxAddress       = 1000 // in bytes

)

// notificationsJSON is the notification settings of a human executor, as the page shows them.
type notificationsJSON struct {
	Notices     []any `json:"notices"`               // [{type, url}] as registered, without secrets
	Preferences any   `json:"preferences,omitempty"` // when the exchange holds notifications back
	Log         any   `json:"log,omitempty"`         // results of the last notifications
	Tried       any   `json:"tried,omitempty"`       // results of a test
}

// notifications shows the notification addresses of the caller and the last results. It takes
// {do: add, type, url}, {do: remove, url} and {do: try}. All other fields of the profile stay
// as they are.
func (g *request) notifications() error {
	if g.r.Method == http.MethodGet {
		return g.showNotifications(nil)
	}
	var in struct{ Do, Type, URL string }
	if err := g.readBody(&in); err != nil {
		return err
	}
	switch in.Do {
	case "add":
		return g.addAddress(in.Type, in.URL)
	case "remove":
		return g.removeAddress(in.URL)
	case "try":
		if g.cfg.Notifier == nil {
			return mess.Errorf(mess.NotYet, "this exchange sends no notifications")
		}
		tried, err := g.cfg.Notifier.SendTest(g.r.Context(), g.actor.ID)
		if err != nil {
			return err
		}
		return g.showNotifications(tried)
	}
	return mess.Errorf(mess.Invalid, "do: %.20q is unknown; write add, remove or try", in.Do)
}

// profile returns the caller's own registration.
func (g *request) profile() (exchange.ExecutorInfo, error) {
	if e, ok := g.x.Executor(g.actor.ID); ok {
		return e, nil
	}
	return exchange.ExecutorInfo{}, mess.Errorf(mess.NotYet, "%q is no registered executor", g.actor.ID)
}

func addressesIn(e exchange.ExecutorInfo) []any {
	v, _ := e.Extra.Get(notificationsKey)
	list, _ := v.([]any)
	return list
}

func addressURL(one any) string {
	o, _ := one.(mess.Object)
	return o.Text("url")
}

func (g *request) showNotifications(tried any) error {
	e, err := g.profile()
	if err != nil {
		return err
	}
	out := notificationsJSON{Notices: []any{}, Tried: tried}
	for _, one := range addressesIn(e) {
		if o, ok := one.(mess.Object); ok {
			one = slices.DeleteFunc(slices.Clone(o), func(f mess.Field) bool { return f.Key != "type" && f.Key != "url" })
		}
		out.Notices = append(out.Notices, one)
	}
	out.Preferences, _ = e.Extra.Get(prefsKey)
	if g.cfg.Notifier != nil {
		out.Log = g.cfg.Notifier.Log(exchange.Actor{ID: g.actor.ID, Roles: exchange.ExecutorRole}) // its own entries only
	}
	writeJSON(g.w, http.StatusOK, out)
	return nil
}

func (g *request) addAddress(kind, address string) error {
	e, err := g.profile()
	if err != nil {
		return err
	}
	list := addressesIn(e)
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || len(address) > maxAddress:
		return mess.Errorf(mess.Invalid, "url: %.100q is no address of a receiver; write it like https://ntfy.sh/my-topic", address)
	case kind != "ntfy" && kind != "webhook":
		return mess.Errorf(mess.Invalid, "type: %.20q is unknown; write ntfy or webhook", kind)
	case slices.ContainsFunc(list, func(one any) bool { return addressURL(one) == address }):
		return mess.Errorf(mess.Conflict, "the list has this address already")
	case len(list) >= maxAddresses:
		return mess.Errorf(mess.Conflict, "the list has %d addresses already; remove one first", len(list))
	}
	return g.saveAddresses(append(slices.Clone(list), mess.Object{{Key: "type", Value: kind}, {Key: "url", Value: address}}))
}

func (g *request) removeAddress(address string) error {
	e, err := g.profile()
	if err != nil {
		return err
	}
	list := addressesIn(e)
	rest := slices.DeleteFunc(slices.Clone(list), func(one any) bool { return addressURL(one) == address })
	if address == "" || len(rest) == len(list) {
		return mess.Errorf(mess.NotFound, "url: the list has no such address")
	}
	return g.saveAddresses(rest)
}

func (g *request) saveAddresses(list []any) error {
	e := mess.Executor{ID: g.actor.ID, Extra: mess.Object{{Key: notificationsKey, Value: list}}}
	_, err := g.x.Post(g.r.Context(), exchange.Inbound{Actor: g.actor, Channel: channel, Message: mess.Message{Items: []mess.Item{&mess.Config{Executor: &e}}}})
	if err != nil {
		return err
	}
	return g.showNotifications(nil)
}
