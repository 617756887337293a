// Package access says who may use which path of an exchange, in one table for the HTTP API and the
// console. Nobody may use a path without a rule. The packages transition and home judge the single
// thread or device.
package access

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// Path is one method of one path: a path of the API after its exchange, such as requests/{ref}, or
// a path of the console, such as /console/who.
type Path struct{ Method, Name string }

// rule says who may use a path.
type rule struct {
	any    exchange.Role // the actor has one of these; 0 for every actor that is no guest
	guests bool          // guests may use it as well
	what   string        // "only an operator may" … ; "" for a text that names the roles
}

var (
	everybody   = rule{guests: true}
	members     = rule{} // every actor that is no guest; the exchange judges each message
	requesters  = rule{any: exchange.Requester}
	operating   = rule{any: exchange.Requester, guests: true}
	operators   = rule{any: exchange.Operator}
	keyKeepers  = rule{any: exchange.Operator, what: "manage keys"}
	statusRead  = rule{any: exchange.Operator, what: "read the status of the program"}
	figures     = rule{any: exchange.Observer | exchange.Operator, what: "read the metrics"}
	threadsIn   = rule{any: exchange.Operator, what: "import threads: they say who has asked for what"}
	peopleOwner = rule{any: exchange.Operator, what: "manage people"}
)

// rules has every path that needs a key.
var rules = map[Path]rule{
	{http.MethodGet, "requests"}:                          everybody, // of a guest: its own
	{http.MethodPost, "requests"}:                         members,   // the exchange asks for the role requester
	{http.MethodGet, "requests/{ref}"}:                    everybody,
	{http.MethodPatch, "requests/{ref}"}:                  everybody, // of a guest: to confirm and to cancel
	{http.MethodGet, "requests/{ref}/thread"}:             everybody,
	{http.MethodGet, "requests/{ref}/attachments/{name}"}: everybody,
	{http.MethodPut, "requests/{ref}/attachments/{name}"}: members,
	{http.MethodPost, "mess"}:                             everybody, // of a guest: to confirm and to cancel
	{http.MethodPost, "import"}:                           threadsIn,
	{http.MethodGet, "export/{ref}"}:                      members,
	{http.MethodGet, "events"}:                            members,
	{http.MethodGet, "executors"}:                         members,
	{http.MethodGet, "executors/{id}"}:                    members,
	{http.MethodPatch, "executors/{id}"}:                  members,
	{http.MethodDelete, "executors/{id}"}:                 members,
	{http.MethodGet, "capabilities"}:                      members,
	{http.MethodPost, "stop"}:                             members,
	{http.MethodPost, "hold"}:                             members,
	{http.MethodPost, "resume"}:                           members,
	{http.MethodGet, "status"}:                            statusRead,
	{http.MethodGet, "webhooks"}:                          members,
	{http.MethodGet, "keys"}:                              keyKeepers,
	{http.MethodPost, "keys"}:                             keyKeepers,
	{http.MethodPatch, "keys/{actor}"}:                    keyKeepers,
	{http.MethodDelete, "keys/{actor}"}:                   keyKeepers,
	{http.MethodPost, "keys/{actor}/rotate"}:              keyKeepers,
	{http.MethodPost, "codes"}:                            keyKeepers,
	{http.MethodGet, "home"}:                              everybody, // of a guest: the devices of its areas
	{http.MethodGet, "devices/{id}/live"}:                 requesters,
	{http.MethodGet, "devices/{id}/map"}:                  requesters,
	{http.MethodGet, "devices/{id}/tasks"}:                members,
	{http.MethodGet, "devices/{id}/history"}:              members,
	{http.MethodPost, "devices/{id}/{verb}"}:              operating, // of a guest: as its access says
	{http.MethodGet, "stream"}:                            everybody,
	{http.MethodGet, "/metrics"}:                          figures,
	{http.MethodGet, "/console/who"}:                      everybody,
	{http.MethodGet, "/console/events"}:                   everybody,
	{http.MethodGet, "/console/pictures"}:                 everybody,
	{http.MethodGet, "/console/refused"}:                  operators,
	{http.MethodPost, "/console/plan"}:                    requesters,
	{http.MethodPost, "/console/stop"}:                    everybody, // a stop makes things safe
	{http.MethodPost, "/console/release"}:                 operators,
	{http.MethodPost, "/console/arm"}:                     operators,
	{http.MethodPost, "/console/invite"}:                  peopleOwner,
	{http.MethodGet, "/console/people"}:                   peopleOwner,
	{http.MethodPost, "/console/people"}:                  peopleOwner,
	{http.MethodGet, "/console/browsers"}:                 everybody, // its own
	{http.MethodPost, "/console/browsers"}:                everybody,
	{http.MethodGet, "/console/notices"}:                  everybody, // the own settings
	{http.MethodPost, "/console/notices"}:                 everybody,
	{http.MethodGet, "/console/bell"}:                     everybody, // what it may see
	{http.MethodPost, "/console/bell"}:                    everybody,
	{http.MethodPost, "/console/link"}:                    everybody, // for another browser of the same actor
	{http.MethodGet, "/console/config"}:                   operators,
	{http.MethodPost, "/console/config"}:                  operators,
	{http.MethodGet, "/console/quiet"}:                    operators,
	{http.MethodPost, "/console/quiet"}:                   operators,
	{http.MethodGet, "/console/search"}:                   operators,
	{http.MethodPost, "/console/search"}:                  operators,
	{http.MethodPost, "/console/device"}:                  operators,
	{http.MethodPost, "/console/code"}:                    operators,
}

// names has the role that the error names.
var names = map[exchange.Role]string{exchange.Requester: "a requester", exchange.ExecutorRole: "an executor", exchange.Operator: "an operator", exchange.Observer | exchange.Operator: "an observer or an operator"}

// Check returns an error unless an actor may use a path. The error is a *mess.Error with the code
// Forbidden.
func Check(actor exchange.Actor, method, name string) error {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	r, ok := rules[Path{method, name}]
	switch {
	case !ok:
		return mess.Errorf(mess.Forbidden, "%s %s: nobody may use it, because package access has no rule for it", method, name)
	case actor.IsGuest():
		if r.guests {
			return nil
		}
		return mess.Errorf(mess.Forbidden, "a guest may not do this")
	case r.any != 0 && actor.Roles&r.any == 0:
		if r.what == "" {
			r.what = "do this"
		}
		return mess.Errorf(mess.Forbidden, "only %s may %s", names[r.any], r.what)
	}
	return nil
}

// CheckOther returns an error for a guest at a path of another channel, which has no rule.
func CheckOther(actor exchange.Actor) error {
	if actor.IsGuest() {
		return mess.Errorf(mess.Forbidden, "a guest may not do this")
	}
	return nil
}

// Paths returns every path with a rule, sorted.
func Paths() []Path {
	list := make([]Path, 0, len(rules))
	for p := range rules {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Path) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Method, b.Method))
	})
	return list
}
