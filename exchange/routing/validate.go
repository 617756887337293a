package routing

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

// Limits of a registration.
const (
	maxExecutorName = 256  // bytes of the name
	maxDescription  = 1024 // bytes of the description of a capability
	maxSchedule     = 256  // bytes of a cron line
	maxAddress      = 2048 // bytes of an address for notifications
	maxAddresses    = 4    // webhooks and ntfy topics
)

// ValidateExecutor checks a registration, or an update of one. It also checks the fields that MESS
// leaves open and the clients of the reference servers set, because the exchange would store a
// wrong value without any effect. A null value clears its field. Unknown fields are allowed. The
// error is a *mess.Error with the code Invalid.
func ValidateExecutor(c mess.Executor) error {
	p := profile{}
	switch {
	case len(c.Name) > maxExecutorName:
		p.fail("name", "%d bytes are too long; write at most %d", len(c.Name), maxExecutorName)
	case strings.ContainsFunc(c.Name, unicode.IsControl):
		p.fail("name", "has a line break or another control character in it; write one line")
	}
	if c.Instance != "" && !mess.ValidRef(c.Instance) {
		p.fail("instance", "%.60q cannot name a process; use letters and digits", c.Instance)
	}
	for i, v := range c.Versions {
		if !speaks.MatchString(v) {
			p.fail(fmt.Sprintf("versions[%d]", i), "%.20q is no version of MESS; write it like 1.1.0", v)
		}
	}
	for i, one := range c.Capabilities {
		if text, _ := Describe(one); len(text) > maxDescription {
			p.fail(fmt.Sprintf("capabilities[%d].description", i), "%d bytes are too long; write at most %d", len(text), maxDescription)
		}
	}
	p.hours(c)
	for _, f := range c.Extra {
		if check := checks[f.Key]; check != nil && f.Value != nil {
			check(&p, f.Key, f.Value)
		}
	}
	if key, ok := c.Extra.Get(receipt.KeyField); ok {
		if text, ok := p.text(receipt.KeyField, key); ok {
			_, err := receipt.PublicKey(text)
			p.failIf(receipt.KeyField, err)
		}
	}
	return p.err
}

// speaks matches a version of MESS.
var speaks = regexp.MustCompile(`^[0-9]{1,4}(\.[0-9]{1,4}){1,2}$`)

// checks has the checks of the open fields that mean something to messkit or to the reference
// servers.
var checks = map[string]func(p *profile, path string, v any){
	"notifications": (*profile).notifications,
	"hooks":         (*profile).hooks,
	"preferences":   (*profile).preferences,
	"areas":         (*profile).names,
	"access":        (*profile).names,
	"location":      (*profile).place,
	"latency":       (*profile).number,
	"precision":     (*profile).number,
	"disarmed":      func(p *profile, path string, v any) { p.text(path, v) },
	KindKey:         func(p *profile, path string, v any) { p.text(path, v) },
}

// profile checks a registration, and keeps the first error.
type profile struct{ err error }

func (p *profile) fail(path, format string, args ...any) {
	if p.err == nil {
		p.err = mess.Errorf(mess.Invalid, "config.executor.%s: %s", path, fmt.Sprintf(format, args...))
	}
}

func (p *profile) failIf(path string, err error) {
	if err != nil {
		p.fail(path, "%v", err)
	}
}

// hours checks the availability and the schedule.
func (p *profile) hours(c mess.Executor) {
	if len(c.Schedule) > maxSchedule {
		p.fail("schedule", "%d bytes are too long; write at most %d", len(c.Schedule), maxSchedule)
		return
	}
	err := CheckHours(c)
	if err == nil && c.Schedule != "" {
		err = CheckSchedule(c.Schedule)
	}
	if err == nil && c.Schedule != "" && c.Availability == "" {
		err = fmt.Errorf("needs availability: %s; write both", mess.Schedule)
	}
	p.failIf("schedule", err)
}

func (p *profile) text(path string, v any) (string, bool) {
	s, ok := v.(string)
	if !ok {
		p.fail(path, "is %s; write text", mess.What(v))
	}
	return s, ok
}

func (p *profile) list(path string, v any) []any {
	list, ok := v.([]any)
	if !ok {
		p.fail(path, "is %s; write a list", mess.What(v))
	}
	return list
}

func (p *profile) mapping(path string, v any) mess.Object {
	o, ok := v.(mess.Object)
	if !ok {
		p.fail(path, "is %s; write a mapping", mess.What(v))
	}
	return o
}

func (p *profile) number(path string, v any) {
	if _, ok := v.(mess.Number); !ok {
		p.fail(path, "is %s; write a number", mess.What(v))
	}
}

func (p *profile) names(path string, v any) {
	for i, one := range p.list(path, v) {
		p.text(fmt.Sprintf("%s[%d]", path, i), one)
	}
}

// place accepts a name, or coordinates in degrees.
func (p *profile) place(path string, v any) {
	if _, named := v.(string); named {
		return
	}
	o := p.mapping(path, v)
	for _, axis := range []struct {
		key  string
		most float64
	}{{"lat", 90}, {"lng", 180}} {
		at, there := o.Get(axis.key)
		if !there || at == nil {
			continue
		}
		p.number(path+"."+axis.key, at)
		if f, ok := Number(o, axis.key); ok && (f < -axis.most || f > axis.most) {
			p.fail(path+"."+axis.key, "%v is out of range; write %v to %v", f, -axis.most, axis.most)
		}
	}
}

// notifications accepts the forms of the reference servers: {type: webhook, url, secret}, {type:
// ntfy, topic, server} or ntfy with the url of a topic, and {type: slack, webhook_url}.
func (p *profile) notifications(path string, v any) {
	reported := 0
	for i, one := range p.list(path, v) {
		at := fmt.Sprintf("%s[%d]", path, i)
		o := p.mapping(at, one)
		if o == nil {
			continue
		}
		for _, key := range []string{"type", "url", "secret", "topic", "server", "webhook_url"} {
			if v, ok := o.Get(key); ok && v != nil {
				p.text(at+"."+key, v)
			}
		}
		kind, address := o.Text("type"), o.Text("url")
		switch {
		case kind == "":
			p.fail(at+".type", "is missing; write webhook, or ntfy")
		case kind == "webhook" && address == "":
			p.fail(at+".url", "is missing; write where a notice goes, like https://example.com/hook")
		case address == "":
			continue
		case len(address) > maxAddress:
			p.fail(at+".url", "%d bytes are too long; write at most %d", len(address), maxAddress)
		case !webAddress(address):
			p.fail(at+".url", "is not the address of a receiver; write it like https://example.com/hook")
		}
		if reported++; reported > maxAddresses {
			p.fail(path, "has more than %d addresses; leave some out", maxAddresses)
		}
	}
}

func webAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// hooks accepts lists by the name of an event. The exchange only stores them, for the reference
// servers.
func (p *profile) hooks(path string, v any) {
	for _, f := range p.mapping(path, v) {
		if f.Value == nil {
			continue
		}
		at := path + "." + f.Key
		for i, one := range p.list(at, f.Value) {
			p.mapping(fmt.Sprintf("%s[%d]", at, i), one)
		}
	}
}

// NotificationLanguages lists the languages that notifications have texts in, the default first.
func NotificationLanguages() []string { return []string{"en", "de"} }

// preferences accepts the language of notifications and the rules that hold them back: {language,
// min_priority, quiet_hours: {enabled, start: "22:00", end: "07:00"}}.
func (p *profile) preferences(path string, v any) {
	o := p.mapping(path, v)
	if least, _ := o.Get("min_priority"); least != nil {
		at := path + ".min_priority"
		word, ok := p.text(at, least)
		if known := []string{"background", "normal", "elevated", "urgent"}; ok && !slices.Contains(known, word) {
			p.fail(at, "%.60q is unknown; write one of: %s", word, strings.Join(known, ", "))
		}
	}
	if language, _ := o.Get("language"); language != nil {
		at := path + ".language"
		if word, ok := p.text(at, language); ok && !slices.Contains(NotificationLanguages(), word) {
			p.fail(at, "%.60q is unknown; write one of: %s", word, strings.Join(NotificationLanguages(), ", "))
		}
	}
	hours, _ := o.Get("quiet_hours")
	if hours == nil {
		return
	}
	path += ".quiet_hours"
	quiet := p.mapping(path, hours)
	if on, _ := quiet.Get("enabled"); on != nil {
		if _, ok := on.(bool); !ok {
			p.fail(path+".enabled", "is %s; write true or false", mess.What(on))
		}
	}
	for _, key := range []string{"start", "end"} {
		if at, _ := quiet.Get(key); at != nil {
			p.clock(path+"."+key, at)
		}
	}
}

// clock accepts a time of day. The hour alone is enough.
func (p *profile) clock(path string, v any) {
	text, ok := p.text(path, v)
	if !ok {
		return
	}
	hour, minute, exact := strings.Cut(text, ":")
	h, err1 := strconv.ParseUint(hour, 10, 8)
	m, err2 := strconv.ParseUint(minute, 10, 8)
	if err1 != nil || h > 24 || exact && (err2 != nil || len(minute) != 2 || m > 59) || h == 24 && m > 0 {
		p.fail(path, `%.20q is not a time of day; write it like "22:00"`, text)
	}
}

// Describe returns the description and the tags in the metadata of a capability.
func Describe(c mess.Capability) (description string, tags []string) {
	meta, _ := c.Meta.(mess.Object)
	all, _ := meta.Get("tags")
	list, _ := all.([]any)
	for _, one := range list {
		if tag, ok := one.(string); ok && mess.ValidRef(tag) && len(tags) < maxTags {
			tags = append(tags, tag)
		}
	}
	return meta.Text("description"), tags
}

// maxTags limits the tags of one capability.
const maxTags = 16
