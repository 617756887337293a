package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/cli/output"
)

// invalidValues maps keys to invalid values of the correct type, with a part of the error message. The
// keys have the order of the example configuration.
var invalidValues = map[string]map[string]string{
	"exchange.id":     {"a b": "cannot name an exchange; use letters", `""`: "cannot name"},
	"exchange.listen": {"8420": "write host:port", "127.0.0.1:99999": "write host:port", "0.0.0.0:8420": "write tls: self"},
	"exchange.tls":    {"yes please": "write self", "{cert: /nope, key: /nope}": "no such file or directory; write PEM files"},
	"exchange.data":   {`""`: "write the folder", "/dev/null": "is not a folder; write another", "/proc/nope": "is not writable"},
	"exchange.store": {
		"http://x": "is not one of a NATS server; write it like nats://host:4222", "nats://me:word@127.0.0.1": "has a secret in it; write it into a file",
		"nats://192.168.1.2:4222": "in plain text; write tls://192.168.1.2:4222", "{replicas: 3}": "url: is missing; write where",
		"{url: 'nats://127.0.0.1', replicas: 2}": "write 3 or 5, or 1 for a single server", "{url: 'nats://127.0.0.1', prefix: a.b}": "is not a word for subjects", "{url: 'nats://127.0.0.1', site: 'a b'}": "is not a word for subjects",
		"{url: 'nats://127.0.0.1', credentials_file: /nope}": "no such file", "{url: 'nats://127.0.0.1', nkey_file: /nope}": "no such file", "{url: 'tls://n1', ca: /nope}": "no such file",
		"{url: 'tls://n1', cert: /nope}": "cert and key are both needed", "{url: 'tls://n1', cert: /nope, key: /nope}": "write PEM files that belong together",
		"{url: 'nats://127.0.0.1', credentials_file: a, nkey_file: b}": "keep one of the two", "{url: 'nats://127.0.0.1', sync: never}": "write always, if all servers",
		"{url: 'nats://127.0.0.1', monitor: [127.0.0.1:8222]}": "write it like http://127.0.0.1:8222", "{url: 'nats://127.0.0.1', folder: x}": "unknown key",
	},
	"exchange.sites":           {"{cabin: {}}": "sites: need the NATS servers", "{'a b': {}}": "is not a word for subjects", "{cabin: {nope: 1}}": "unknown key"},
	"exchange.sites.{}.domain": {"a.b": "is not a word for subjects"},
	"exchange.centre":          {"{domain: hub, exchange: office}": "centre: needs the NATS servers"},
	"exchange.centre.domain":   {"a.b": "is not a word for subjects"},
	"exchange.centre.exchange": {`""`: "is not the exchange of a centre"},
	"exchange.centre.accept":   {"[a b]": "cannot name a requester"},
	"exchange.nats": {
		"http://x": "is not one of a NATS server; write it like nats://host:4222", "nats://me:word@127.0.0.1": "has a secret in it; write it into a file",
		"nats://192.168.1.2:4222": "in plain text; write tls://192.168.1.2:4222", "{site: home}": "url: is missing; write where",
		"{url: 'nats://127.0.0.1', prefix: a.b}": "is not a word for subjects", "{url: 'nats://127.0.0.1', site: 'a b'}": "is not a word for subjects",
		"{url: 'nats://127.0.0.1', nkey_file: /nope}": "no such file", "{url: 'nats://127.0.0.1', replicas: 3}": "unknown key",
		"{url: 'nats://127.0.0.1', credentials_file: a, nkey_file: b}": "keep one of the two",
	},
	"exchange.archive_after":                   {"1ms": "write 1s or more, or 0"},
	"exchange.otlp":                            {"collector:4318": "write it like http://127.0.0.1:4318", "http://me:word@127.0.0.1:4318": "has a secret in it"},
	"agent.otlp":                               {"collector:4318": "write it like http://127.0.0.1:4318", "http://me:word@127.0.0.1:4318": "has a secret in it"},
	"exchange.enrol":                           {"short": "are easy to guess; write 8 or more"},
	"exchange.mqtt.listen":                     {"1883": "write host:port", "0.0.0.0:1883": "write tls: self"},
	"exchange.mqtt.url":                        {"http://x": "write it like mqtt://", "mqtt://me:word@x": "write user: and a file", "mqtt://x/y": "more than a host"},
	"exchange.mqtt":                            {"{url: 'mqtts://x', ca: /nope}": "no such file", "{url: 'mqtts://x', cert: /nope, key: /nope}": "no such file"},
	"exchange.mqtt.user":                       {"x": "url: is missing; write it like mqtt://"},
	"exchange.mqtt.password_file":              {"/nope": "no such file"},
	"exchange.hosts":                           {"[http://x]": "write it like kitchen.example", "[a b]": "no name of a host"},
	"exchange.cors":                            {"[nowhere]": "write it like https://console.example"},
	"exchange.webhooks.allow":                  {"[300.1.1.1/24]": "write it like 192.168.1.0/24"},
	"exchange.webhooks.timeout":                {"1ms": "not between 100ms and 1m", "1h": "not between"},
	"exchange.rate.requests":                   {"0": "not from 0.1", "1e9": "not from 0.1"},
	"exchange.rate.burst":                      {"0": "write 1 or more", "1.5": "is not a whole number"},
	"exchange.rate.connections":                {"1": "write 4 or more", "-1": "write 4 or more"},
	"exchange.rate.all_connections":            {"3": "write 4 or more"},
	"exchange.rate.waiting":                    {"3": "write 4 or more"},
	"exchange.rate.all_waiting":                {"-4": "write 4 or more"},
	"exchange.mqtt.clients":                    {"-1": "write 1 or more"},
	"exchange.mcp.sessions":                    {"0": "not from 1 to 1000"},
	"exchange.mcp.idle":                        {"1s": "use 1m or more"},
	"exchange.agentmail.server":                {"nowhere": "server"},
	"exchange.agentmail.token_file":            {"/nope": "write where the mail server is"},
	"exchange.agentmail.project":               {"/home/house": "write where the mail server is"},
	"exchange.agentmail.name":                  {"Kitchen-1": "write where the mail server is"},
	"exchange.agentmail.senders":               {"[a b]": "write its name at the mail server"},
	"exchange.agentmail.agents":                {"[{name: helper, capabilities: [x]}]": "write a name with"},
	"exchange.agentmail.agents[].name":         {"a-helper": "ends in helper"},
	"exchange.agentmail.agents[].id":           {"a b": "cannot name an executor"},
	"exchange.agentmail.agents[].capabilities": {"[]": "list what the agent can do"},
	"exchange.agentmail.poll":                  {"1ms": "not from 1s to 1h"},
	"exchange.agentmail.zones":                 {"{a b: [x]}": "cannot name a zone", "{kitchen: []}": "has no devices"},
	"exchange.agentmail.max_reservation":       {"1s": "write 1m or more"},
	"exchange.mesh.agent":                      {"a b": "cannot name an agent"},
	"exchange.mesh.url":                        {"nowhere": "write it like http"},
	"exchange.mesh":                            {"{on: true, registry: /nope}": "no such file"},
	"exchange.mesh.peers":                      {"{hub: {url: nowhere}}": "is not the address of an agent", "{all: {url: 'http://x'}}": "cannot name an agent"},
	"exchange.mesh.peers.{}.url":               {"nowhere": "is not the address of an agent"},
	"exchange.mesh.peers.{}.pin":               {"12": "is no fingerprint"},
	"exchange.mesh.rate":                       {"0": "write 0.1 or more"},
	"exchange.mesh.burst":                      {"0": "and 1 or more"},
	"exchange.mesh.paths":                      {"[x/y]": "is not a whole path"},
	"exchange.mesh.allow":                      {"[x]": "write it like 192.168.1.0/24"},
	"exchange.mesh.outage.hosts":               {"1": "write hosts: 2 or more"},
	"exchange.mesh.outage.within":              {"1ms": "within: 1s to 24h"},
	"exchange.mesh.text_url":                   {"nowhere": "write the address that receives texts"},
	"exchange.lease":                           {"1ms": "use 1s or more", "9999h": "or less"},
	"exchange.quiet_lease":                     {"1ms": "use 1s or more", "9999h": "or less"},
	"exchange.unreachable":                     {"1ms": "use 1s or more", "9999h": "or less"},
	"exchange.lost_after":                      {"1ms": "use 1s or more", "9999h": "or less"},
	"exchange.offer_time":                      {"1ms": "use 1s or more", "9999h": "or less"},
	"exchange.max_attempts":                    {"0": "must be 1 or more"},
	"exchange.max_attachment":                  {"0": "must be 1 byte or more"},
	"exchange.max_thread_attachments":          {"5": "less than one attachment"},
	"exchange.routing":                         {"[{match: {urgency: now}}]": "write prefer: [executor]"},
	"exchange.routing[].match.capability":      {"a b": "cannot name a capability"},
	"exchange.routing[].match.urgency":         {"often": "write whenever, soon or now"},
	"exchange.routing[].match.precision":       {"vague": "write loose, guided or exact"},
	"exchange.routing[].prefer":                {"[a b]": "cannot name an executor", "[]": "write prefer"},
	"exchange.confirm":                         {"maybe": "terminal"},
	"exchange.enrol_capabilities":              {"[a b]": "cannot name a capability"},
	"exchange.mesh.peers.{}.accept_before":     {"soon": "write"},
	"exchange.mesh.peers.{}.capabilities":      {"[a b]": "cannot name a capability"},
	"exchange.mesh.peers.{}.executor":          {"a b": "cannot name an executor"},
	"exchange.routing[].default.prefer":        {"[a b]": "cannot name an executor"},

	"connect.url":       {"ftp://x": "write it like http://", `""`: "write where the exchange is", "http://a:b@x": "contains a password"},
	"connect.exchange":  {"a b": "exchange"},
	"connect.pin":       {"12": "fingerprint"},
	"connect.server":    {"other": "write auto, messkit or field"},
	"connect.operators": {"[a b]": "cannot be an id"},
	"connect.poll":      {"1ms": "not between 200ms and 10m"},
	"connect.settle":    {"1h": "not between 50ms and 800ms"},
	"connect.user":      {"x": "is for a broker alone"},
	"connect.ca":        {"x": "is for a broker alone"},
	"connect.cert":      {"x": "is for a broker alone"},
	"connect.key":       {"x": "is for a broker alone"},
	"connect.key_file":  {`""`: "write the file for this executor's key"},

	"connect.credentials_file": {"x": "is for NATS servers alone"},
	"connect.nkey_file":        {"x": "is for NATS servers alone"},

	"agent.id":                 {"a b": "cannot name an executor", "operator": "choose another"},
	"agent.availability":       {"often": "write always, schedule or on_demand", "schedule": "write a cron expression"},
	"agent.data":               {`""`: "write the folder", "/dev/null/x": "not a folder", "/proc/nope": "is not writable"},
	"agent.confirm":            {"{often: never}": "known risks", "{access: never}": "weaker", "{comfort: maybe}": "use never, operator, requester"},
	"agent.confirm_within":     {"1ms": "write 1s or more", "9999h": "or less"},
	"agent.max_acts.requester": {"often": "write it like 5/m", "0/h": "0 cannot be"},
	"agent.max_acts.all":       {"often": "write it like 5/m"},
	"agent.disarm":             {"[all]": "write observe, comfort"},
	"agent.clock":              {"quartz": "write auto or trusted"},
	"agent.facts":              {"[a b]": "cannot name a capability"},
	"agent.max_steps":          {"0": "write 1 or more", "100000": "write 1000 or less"},
	"agent.watch.default":      {"1ms": "not between 1s"},
	"agent.watch.longest":      {"1s": "not between 1m and 168h"},
	"agent.watch.every":        {"1h": "not between 1s and 10m"},
	"agent.watch.at_once":      {"0": "write 1 or more"},
	"agent.position.lat":       {"91": "not on the earth"},
	"agent.position.lng":       {"181": "not on the earth"},
	"agent.stop_line.line":     {"99999": "write the number that gpioinfo shows", "-3": "-1 for none"},
	"agent.stop_line.chip":     {},
	"agent.stop_line.stops_on": {"up": "write high or low"},
	"agent.stop_line.bias":     {"high": "write up, down or none"},

	"devices":                 {"{a b: {driver: sim-lamp}}": "cannot name a device", "{x: {}}": "write driver: NAME", "{x: {driver: y}}": "unknown driver"},
	"devices.{}.driver":       {"sim-lmap": "did you mean"},
	"devices.{}.label":        {"' '": "write what people call it"},
	"devices.{}.aliases":      {"['']": "write what people call it"},
	"devices.{}.class":        {"thing": "write one of"},
	"devices.{}.sees":         {"[door]": "takes no pictures"},
	"devices.{}.placeholders": {"[/nope]": "takes no pictures"},
	"devices.{}.seen_by":      {"nobody": "write the name of a camera"},
	"devices.{}.rooms":        {"[hall]": "neither cleans nor prints"},
	"devices.{}.risk":         {"some": "write observe"},
	"devices.{}.effect":       {"twice": "write once"},
	"devices.{}.done.below":   {"-1": "write 0 to 100000"},
	"devices.{}.done.for":     {"2h": "not between 0 and 1h"},
}

// invalidLimits contains the limits of a device, and of an agent for all devices without limits.
var invalidLimits = map[string]map[string]string{
	"min_interval": {"999h": "or less"},
	"max_on":       {"0s": "leave it out for the default", "99999h": "or less"},
	"max_acts":     {"often": "write it like 5/m"},
	"range":        {"{swich: {for: {max: 1}}}": "unknown command", "{switch: {for: {min: 2, max: 1}}}": "more than max"},
	"quiet_hours":  {"25:00-26:00": "write it like 22:00-07:00", "always": "write it like"},
	"busy":         {"maybe": "use wait or refuse"},
	"timeout":      {"0s": "leave it out for the default", "2h": "or less"},
	"long_timeout": {"0s": "leave it out for the default", "999h": "or less"},
	"stop_within":  {"0s": "leave it out for the default", "1h": "or less"},
	"confirm":      {"maybe": "use never, operator, requester"},
}

// invalidDeviceLimits contains the limits that only devices have.
var invalidDeviceLimits = map[string]map[string]string{
	"requires":            {"[{device: nobody, is: closed}]": "there is no device"},
	"requires[].device":   {`""`: "write whose reading counts"},
	"requires[].is":       {"ajar": "is missing"},
	"requires[].quantity": {"1": "write whose reading counts"},
	"requires[].min":      {"x": "write a number"},
	"requires[].max":      {"x": "write a number"},
	"requires[].max_age":  {"-1s": "write a duration of 0 or more"},
	"interlock":           {"[alone]": "no other device"},
}

// anyValue lists keys that accept every value of their type, or whose errors depend on other
// keys. Scripts test the latter.
var anyValue = []string{
	"exchange.mqtt.ca", "exchange.mqtt.cert", "exchange.mqtt.key", "exchange.mesh.registry", "agent.name", "agent.words", "agent.schedule", "devices.{}.area", "exchange.mesh.token", "exchange.mesh.groups", "exchange.mesh.relay", "exchange.mesh.notify",
	"exchange.mesh.session_prefixes", "exchange.mesh.peers.{}.token", "exchange.mesh.peers.{}.accept", "exchange.mesh.peers.{}.key_file",
	"exchange.mesh.peers.{}.seal_key_file", "exchange.mesh.peers.{}.role", "exchange.mesh.peers.{}.areas", "exchange.agentmail.agents[].areas", "exchange.sites.{}.key_file", "connect.enrol",
}

// An invalid value leads to an error with its line and the valid values. Every key of the
// configuration is in a table.
func TestInvalidValueOfEachKeyIsReported(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	all := map[string]map[string]string{}
	for path, values := range invalidValues {
		all[path] = values
	}
	for path, values := range invalidLimits {
		all["agent.limits."+path], all["devices.{}.limits."+path] = values, values
	}
	for path, values := range invalidDeviceLimits {
		all["devices.{}.limits."+path] = values
	}
	for _, path := range output.SortedKeys(all) {
		for _, value := range output.SortedKeys(all[path]) {
			text, line := configWithValue(path, value)
			message := checkConfig(t, text)
			if want := all[path][value]; !strings.Contains(message, want) || !strings.Contains("\n"+message, "\nf.yaml:") {
				t.Errorf("%s\nhas the error:\n%s\nwant %q at line %d", text, message, want, line)
			}
			for _, one := range strings.Split(message, "\n") {
				if !strings.HasPrefix(one, "f.yaml:") {
					t.Errorf("%s\nhas an error without a line: %s", text, one)
				}
			}
		}
	}
	everyKey(func(path string, typ reflect.Type) {
		_, known := all[path]
		group := typ.Kind() == reflect.Struct || typ.Kind() == reflect.Bool || strings.HasPrefix(path, "agent.limits.requires") || path == "agent.limits.interlock" || strings.Contains(path, ".range.")
		for _, free := range anyValue {
			known = known || path == free
		}
		if !known && !group {
			t.Errorf("%s: what can it not be? write it into the table", path)
		}
	})
}
