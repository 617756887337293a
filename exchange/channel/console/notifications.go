package console

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/push"
	"github.com/messkit/messkit/mess"
)

const (
	notificationsKey = "notifications" // the field of config.executor that existing clients use
	prefsKey         = "preferences"
	quietKey         = "quiet_hours"
	languageKey      = "language" // of notifications to addresses
	maxAddresses     = 4          // per executor or person; later ones have no effect
	maxAddress       = 1000       // in bytes
)

// notificationsJSON is the notification settings of an executor or a person, as the page shows them.
type notificationsJSON struct {
	Notices     []any     `json:"notices"`               // [{type, url}] as registered, without secrets
	Preferences any       `json:"preferences,omitempty"` // when the exchange holds notifications back
	Push        *pushJSON `json:"push,omitempty"`        // nil: the exchange sends no push messages
	Log         any       `json:"log,omitempty"`         // results of the last notifications
	Tried       any       `json:"tried,omitempty"`       // results of a test
}

// pushJSON is what a browser needs to turn push messages on.
type pushJSON struct {
	Key      string `json:"key"`      // the public key of the exchange, in base64url
	Here     bool   `json:"here"`     // the calling browser takes push messages
	Browsers int    `json:"browsers"` // of the caller that do

	Authority *authorityJSON `json:"authority,omitempty"` // nil: devices need none
}

// authorityJSON is what a person needs to make a phone trust the certificate of the exchange.
type authorityJSON struct {
	Link        string   `json:"link"`        // address of the certificate of the authority
	Dots        []string `json:"dots"`        // the link as a QR code
	Fingerprint string   `json:"fingerprint"` // SHA-256 of the certificate, as phones show it
}

// authority returns how a phone gets the authority, under the address of the caller's page if a phone
// can reach that.
func (g *request) authority() *authorityJSON {
	if g.cfg.Authority == nil {
		return nil
	}
	base := "https://" + g.r.Host
	host := (&url.URL{Host: g.r.Host}).Hostname()
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		if base = ""; g.cfg.Addresses != nil {
			if all := g.cfg.Addresses(); len(all) > 0 {
				base = all[0]
			}
		}
	}
	a := &authorityJSON{}
	sum := sha256.Sum256(g.cfg.Authority)
	a.Fingerprint = strings.ToUpper(strings.ReplaceAll(fmt.Sprintf("% x", sum), " ", ":"))
	if base != "" {
		a.Link = base + pathAuthority
		a.Dots, _ = QRCode(a.Link) // without it the page has the link
	}
	return a
}

// notifications shows the notification settings of the caller and the last results. It takes
// {do: add, type, url, language}, {do: remove, url}, {do: try}, {do: subscribe, subscription}, {do:
// unsubscribe}, {do: language, language} and {do: quiet, quiet: {enabled, start, end}}. The language of
// add counts only where none is chosen. All other settings stay as they are.
func (g *request) notifications() error {
	if g.r.Method == http.MethodGet {
		return g.showNotifications(nil)
	}
	var in struct {
		Do, Type, URL, Language string
		Subscription            push.Subscription
		Quiet                   quietHours
	}
	if err := g.readBody(&in); err != nil {
		return err
	}
	if _, _, err := g.profile(); err != nil {
		return err
	}
	var tried any
	var err error
	switch in.Do {
	case "add":
		err = g.addAddress(in.Type, in.URL, in.Language)
	case "remove":
		err = g.changeProfile(func(p mess.Object) (mess.Field, error) { return withoutAddress(p, in.URL) })
	case "try":
		if g.cfg.Notifier == nil {
			return mess.Errorf(mess.NotYet, "this exchange sends no notifications")
		}
		tried, err = g.cfg.Notifier.SendTest(g.r.Context(), g.actor.ID)
	case "subscribe":
		err = g.subscribe(in.Subscription)
	case "unsubscribe":
		err = g.unsubscribe()
	case "language":
		err = g.changeProfile(func(p mess.Object) (mess.Field, error) { return withLanguage(p, in.Language) })
	case "quiet":
		err = g.changeProfile(in.Quiet.in)
	default:
		err = mess.Errorf(mess.Invalid, "do: %.20q is unknown; write add, remove, try, subscribe, unsubscribe, language or quiet", in.Do)
	}
	if err != nil {
		return err
	}
	return g.showNotifications(tried)
}

// profile returns the notification settings of the caller: those of its registration, or of a person
// those that the console keeps.
func (g *request) profile() (settings mess.Object, registered bool, err error) {
	if e, ok := g.x.Executor(g.actor.ID); ok {
		return e.Extra, true, nil
	}
	if _, is := g.keys.Person(g.actor.ID); !is && g.actor.ID != keys.OperatorID {
		return nil, false, mess.Errorf(mess.NotYet, "%q is no registered executor and no person", g.actor.ID)
	}
	return g.Settings(g.actor.ID), false, nil
}

// changeProfile changes one field of the notification settings of the caller. Between the read of the
// settings that change gets and the write of its field, no other browser changes them; those of a
// registration can change at another exchange. A field without a key changes nothing.
func (g *request) changeProfile(change func(settings mess.Object) (mess.Field, error)) error {
	g.storing.Lock()
	defer g.storing.Unlock()
	settings, registered, err := g.profile()
	if err != nil {
		return err
	}
	if !registered {
		return g.changeSettings(g.r.Context(), g.actor.ID, change)
	}
	field, err := change(settings)
	if err != nil || field.Key == "" {
		return err
	}
	return g.saveRegistration(field)
}

// saveRegistration changes one field of the caller's registration.
func (g *request) saveRegistration(field mess.Field) error {
	e := mess.Executor{ID: g.actor.ID, Extra: mess.Object{field}}
	_, err := g.x.Post(g.r.Context(), exchange.Inbound{Actor: g.actor, Channel: channel, Message: mess.Message{Items: []mess.Item{&mess.Config{Executor: &e}}}})
	return err
}

// addressesIn returns the addresses in notification settings.
func addressesIn(settings mess.Object) []any {
	v, _ := settings.Get(notificationsKey)
	list, _ := v.([]any)
	return list
}

func addressURL(one any) string {
	o, _ := one.(mess.Object)
	return o.Text("url")
}

func (g *request) showNotifications(tried any) error {
	settings, _, err := g.profile()
	if err != nil {
		return err
	}
	out := notificationsJSON{Notices: []any{}, Tried: tried}
	for _, one := range addressesIn(settings) {
		if o, ok := one.(mess.Object); ok {
			one = slices.DeleteFunc(slices.Clone(o), func(f mess.Field) bool { return f.Key != "type" && f.Key != "url" })
		}
		out.Notices = append(out.Notices, one)
	}
	out.Preferences, _ = settings.Get(prefsKey)
	if g.cfg.PushKey != "" {
		out.Push = &pushJSON{Key: g.cfg.PushKey, Here: g.isSubscribed(), Browsers: len(g.Subscriptions(g.actor.ID)), Authority: g.authority()}
	}
	if g.cfg.Notifier != nil {
		out.Log = g.cfg.Notifier.Log(exchange.Actor{ID: g.actor.ID, Roles: exchange.ExecutorRole}) // its own entries only
	}
	writeJSON(g.w, http.StatusOK, out)
	return nil
}

// addAddress adds an address, and chooses the language where the caller has chosen none. "" chooses none.
func (g *request) addAddress(kind, address, language string) error {
	if language != "" {
		if _, err := withLanguage(nil, language); err != nil {
			return err
		}
	}
	err := g.changeProfile(func(p mess.Object) (mess.Field, error) { return withAddress(p, kind, address) })
	if err != nil || language == "" {
		return err
	}
	return g.changeProfile(func(p mess.Object) (mess.Field, error) {
		if preferencesIn(p).Text(languageKey) != "" {
			return mess.Field{}, nil
		}
		return withLanguage(p, language)
	})
}

// preferencesIn returns the preferences in notification settings.
func preferencesIn(settings mess.Object) mess.Object {
	v, _ := settings.Get(prefsKey)
	prefs, _ := v.(mess.Object)
	return prefs
}

// withLanguage returns the field with the preferences and this language of notifications.
func withLanguage(settings mess.Object, language string) (f mess.Field, err error) {
	if all := exchange.NotificationLanguages(); !slices.Contains(all, language) {
		return f, mess.Errorf(mess.Invalid, "language: %.20q is unknown; write one of: %s", language, strings.Join(all, ", "))
	}
	return mess.Field{Key: prefsKey, Value: slices.Clone(preferencesIn(settings)).Set(languageKey, language)}, nil
}

// withAddress returns the field with the addresses and one more.
func withAddress(settings mess.Object, kind, address string) (f mess.Field, err error) {
	list := addressesIn(settings)
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || len(address) > maxAddress:
		return f, mess.Errorf(mess.Invalid, "url: %.100q is no address of a receiver; write it like https://ntfy.sh/my-topic", address)
	case kind != "ntfy" && kind != "webhook":
		return f, mess.Errorf(mess.Invalid, "type: %.20q is unknown; write ntfy or webhook", kind)
	case slices.ContainsFunc(list, func(one any) bool { return addressURL(one) == address }):
		return f, mess.Errorf(mess.Conflict, "the list has this address already")
	case len(list) >= maxAddresses:
		return f, mess.Errorf(mess.Conflict, "the list has %d addresses already; remove one first", len(list))
	}
	return mess.Field{Key: notificationsKey, Value: append(slices.Clone(list), mess.Object{{Key: "type", Value: kind}, {Key: "url", Value: address}})}, nil
}

// withoutAddress returns the field with the addresses without one.
func withoutAddress(settings mess.Object, address string) (f mess.Field, err error) {
	list := addressesIn(settings)
	rest := slices.DeleteFunc(slices.Clone(list), func(one any) bool { return addressURL(one) == address })
	if address == "" || len(rest) == len(list) {
		return f, mess.Errorf(mess.NotFound, "url: the list has no such address")
	}
	return mess.Field{Key: notificationsKey, Value: rest}, nil
}

// quietHours is when only urgent notifications go out, by the clock of the exchange.
type quietHours struct {
	Enabled    bool
	Start, End string // 22:00
}

// timeOfDay is the form of a time in quietHours.
var timeOfDay = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)

// in returns the field with the preferences and these quiet hours.
func (q quietHours) in(settings mess.Object) (f mess.Field, err error) {
	switch {
	case !timeOfDay.MatchString(q.Start) || !timeOfDay.MatchString(q.End):
		return f, mess.Errorf(mess.Invalid, "quiet: %.20q to %.20q are no times of day; write them like 22:00", q.Start, q.End)
	case q.Start == q.End:
		return f, mess.Errorf(mess.Invalid, "quiet: the hours end when they start; choose another end, or turn them off")
	}
	hours := mess.Object{{Key: "enabled", Value: q.Enabled}, {Key: "start", Value: q.Start}, {Key: "end", Value: q.End}}
	return mess.Field{Key: prefsKey, Value: slices.Clone(preferencesIn(settings)).Set(quietKey, hours)}, nil
}
