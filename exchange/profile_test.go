package exchange_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// The exchange accepts a whole registration, or rejects it with an error that names the field.
func TestProfileIsAcceptedWhole(t *testing.T) {
	quiet := func(v string) string { return "preferences: {quiet_hours: {start: " + v + "}}" }
	for text, want := range map[string]string{
		"name: A phone": "", "name: ''": "", "instance: 7f3a": "", "versions: [1.0.0, '1.1']": "", "x_own: [{}]": "",
		"notifications: []": "", "notifications: null": "", "hooks: {}": "", "hooks: {on_request_created: []}": "", "hooks: {on_request_created: [{type: ifttt, key: k}]}": "", "preferences: {}": "", "preferences: {language: de}": "", "preferences: {language: null}": "",
		"notifications: [{type: ntfy, topic: x}, {type: slack, webhook_url: 'https://a.example/'}, {type: webhook, url: 'https://a.example/h', secret: s, more: 1}, {type: pager, number: 7}]": "",
		"preferences: {min_priority: urgent, quiet_hours: {enabled: true, start: '22:00', end: '7:30'}}":                                                                                       "", quiet("'22'"): "", quiet("'24:00'"): "", quiet("null"): "",
		"availability: schedule, schedule: 0 8-22 * * *": "", "areas: [kitchen]": "", "location: kitchen": "", "location: {lat: 1, lng: 2.5}": "", "latency: 5": "", "disarmed: ''": "", "kind: person": "",

		"name: " + strings.Repeat("x", 300): "name: 300 bytes", "name: \"a\\nb\"": "name: has a line break", "instance: ' '": "instance", "versions: 5": "versions[0]", "versions: [1.1.0, x]": "versions[1]",
		"notifications: x": "notifications: is text; write a list", "notifications: {type: webhook}": "notifications: is a mapping", "notifications: [x]": "notifications[0]: is text; write a mapping",
		"notifications: [{url: 'https://a.example/'}]": "notifications[0].type", "notifications: [{type: webhook}]": "notifications[0].url: is missing", "notifications: [{type: webhook, url: 5}]": "notifications[0].url: is a number",
		"notifications: [{type: webhook, url: no address}]": "notifications[0].url", "notifications: [{type: webhook, url: 'file:///etc/passwd'}]": "notifications[0].url", "notifications: [{type: webhook, url: 'https://a.example/', secret: 5}]": "notifications[0].secret: is a number",
		"notifications: [" + strings.TrimSuffix(strings.Repeat("{type: webhook, url: 'https://a.example/'},", 5), ",") + "]": "notifications: has more than 4",
		"hooks: 5": "hooks: is a number", "hooks: []": "hooks: is a list", "hooks: {on_request_created: x}": "hooks.on_request_created: is text", "hooks: {on_request_created: [5]}": "hooks.on_request_created[0]",
		"preferences: {language: fr}": `preferences.language: "fr" is unknown; write one of: en, de`, "preferences: {language: 1}": "preferences.language: is a number",
		"preferences: []": "preferences: is a list", "preferences: {min_priority: high}": "preferences.min_priority", "preferences: {min_priority: 1}": "preferences.min_priority: is a number",
		"preferences: {quiet_hours: x}": "preferences.quiet_hours: is text", "preferences: {quiet_hours: {enabled: 'yes'}}": "preferences.quiet_hours.enabled: is text", quiet("22"): "quiet_hours.start: is a number",
		quiet("'25:99'"): "quiet_hours.start", quiet("'24:01'"): "quiet_hours.start", quiet("'10:5'"): "quiet_hours.start", quiet("'-1:00'"): "quiet_hours.start", quiet("''"): "quiet_hours.start", quiet("late"): "quiet_hours.start",
		"schedule: 0 8-22 * * *": "schedule: needs availability", "availability: always, schedule: often": "schedule", "availability: schedule": "schedule: missing",
		"areas: kitchen": "areas: is text", "areas: [5]": "areas[0]: is a number", "location: 5": "location: is a number", "location: {lat: north}": "location.lat: is text", "location: {lat: 91, lng: 0}": "location.lat: 91 is out of range",
		"latency: fast": "latency: is text", "disarmed: true": "disarmed: is true or false", "kind: 5": "kind: is a number", "receipt_key: 5": "receipt_key: is a number", "receipt_key: short": "receipt_key",
	} {
		m, err := mess.Parse([]byte("config: {executor: {id: pi, " + text + "}}"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		err = exchange.ValidateExecutor(*m.Items[0].(*mess.Config).Executor)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && (!errors.Is(err, mess.Invalid) || !strings.Contains(err.Error(), "config.executor."+want) && !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// A rejected registration changes nothing: the earlier registration, the claims of the earlier
// process and the pinned receipt key stay.
func TestRejectedProfileChangesNothing(t *testing.T) {
	cfg, pinned := exchange.DefaultConfig(), 0
	cfg.Pin = func(_, key string) (string, error) { pinned++; return key, nil }
	withHarnessOver(t, memory.New(), cfg, func(h *harness) {
		h.send(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [look], instance: one}}")
		ref := h.send(agent, "request: {intent: look, requires: [look]}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed, instance: one}")
		h.wantError(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [], instance: two, receipt_key: xc3tBbVKfzdPiwGkF3CFsw/Pgkb0G52LEjmIQyphbFA=, hooks: 5}}", mess.Invalid, "hooks")
		h.wantStatus(ref, mess.Claimed)
		if e := h.x.Executors()[0]; len(e.Capabilities) != 1 || pinned != 0 {
			t.Errorf("%+v, %d keys pinned", e, pinned)
		}
	})
}

// The exchange checks the media type, the base64 and the first bytes of an image in a request.
func TestInvalidImagesAreRejected(t *testing.T) {
	data := func(mime, bytes string) string {
		return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString([]byte(bytes))
	}
	withHarness(t, func(h *harness) {
		for entry, want := range map[string]string{
			"image: '" + data("image/jpeg", "\xff\xd8\xff\xe0") + "'": "", "image: '" + data("image/avif", "\x00\x00\x00") + "'": "", "image: {data: '" + data("image/png", "\x89PNG\r\n\x1a\n") + "', name: a.png}": "",
			"image: '" + data("image/svg+xml", "<svg/>") + "'": "", "file: '" + data("text/plain", "a list") + "'": "", "audio: '" + data("audio/wav", "RIFF\x00") + "'": "", "image: https://a.example/b": "",
			"image: {uri: https://a.example/b, mime: application/octet-stream}": "",

			"image: '" + data("text/html", "<p>") + "'": "text/html", "image: '" + data("image/png", "not a picture") + "'": "are text", "image: '" + data("image/png", "<html><script>") + "'": "are text",
			"image: 'data:image/png;base64,###'": "not base64", "image: 'data:image/png;base64,'": "is empty", "image: 'data:image/png,x'": "is no data URI", "image: 'data:nonsense'": "is no data URI",
			"image: {data: '" + data("text/html", "<p>") + "', name: a.png}": "text/html", "video: '" + data("image/png", "\x89PNG") + "'": "not video", "image: {file: a.png, mime: text/html, sha256: a}": "mime", "audio: 'data:;base64,AAAA'": "not audio",
		} {
			text := "request: {intent: look, context: [{" + entry + "}]}"
			if want == "" {
				h.send(agent, text)
			} else {
				h.wantError(agent, text, mess.Invalid, want, "[0].request.context[0].")
			}
		}
	})
}

// The exchange rejects an invalid drain order, because a misspelled executors key would mean all
// executors. It accepts a stop with any reason.
func TestInvalidOrdersAreRejected(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "look")
		long := strings.Repeat("x", 50_000)
		h.wantError(person, "config: {hold: {why: "+long+"}}", mess.Invalid, "config.hold.why: 50000 bytes")
		h.wantError(person, "config: {hold: {executor: garage-pi}}", mess.Invalid, "config.hold.executor: unknown key")
		h.wantError(person, "config: {resume: {executor: garage-pi}}", mess.Invalid, "config.resume.executor: unknown key")
		if e := h.x.Executors()[0]; e.Drain != nil {
			t.Errorf("%+v", e.Drain)
		}
		for reason, want := range map[string]string{"5": "5", "true": "true", "[a, 1]": `["a",1]`, "{a: b}": `{"a":"b"}`, "null": "", long: strings.Repeat("x", 512)} {
			if got := h.send(person, "config: {stop: {why: "+reason+"}}").Stops; len(got) != 1 || got[0].Reason != want {
				t.Errorf("%.40s: %.200v, want %.40q", reason, got, want)
			}
		}
	})
}
