package messkit_test

// programLayer connects all packages and contains no rules.
var programLayer = map[string]imports{
	".": {
		own: `drivers drivers/all internal/cli internal/cli/output internal/daemon
			internal/daemon/watchdog internal/strictyaml`,
	},
	"cmd/messkit": {own: `.`},
	"internal/cli": {
		own: `agent/journal agent/localpolicy capabilities/catalog drivers drivers/all
			drivers/mqttdevice exchange/channel/agentmail exchange/remote/httpclient
			internal/cli/client internal/cli/cluster internal/cli/doctor internal/cli/executors internal/cli/fleet
			internal/cli/journal internal/cli/keys internal/cli/mcpserver internal/cli/mesh
			internal/cli/output internal/cli/requests internal/cli/safety internal/cli/store internal/cli/thread
			internal/cli/top internal/config internal/config/discovery internal/daemon internal/daemon/status
			internal/daemon/watchdog internal/durable internal/peer internal/picture internal/terminal mess`,
		modules: `github.com/spf13/cobra`,
	},
	"internal/cli/client": {
		own: `agent/localpolicy agent/selftest exchange/remote/httpclient internal/cli/output
			internal/config internal/order internal/picture internal/terminal internal/wait mess
			mess/messeaf`,
		modules: `github.com/spf13/cobra golang.org/x/sync`,
	},
	"internal/cli/cluster": {
		own:     `internal/cli/output internal/config internal/durable internal/freeport internal/process/child internal/wait internal/wal`,
		modules: `golang.org/x/sync`,
	},
	"internal/cli/doctor": {
		own: `agent/device agent/localpolicy agent/selftest agent/stop drivers/all
			drivers/mqttdevice exchange/keys exchange/remote exchange/remote/httpclient exchange/remote/natsclient
			exchange/store/jetstream internal/broker internal/cli/client internal/cli/output internal/config
			internal/config/discovery internal/daemon internal/daemon/inspect
			internal/daemon/status internal/natslink internal/resources internal/strictyaml internal/terminal mess`,
		modules: `github.com/spf13/cobra golang.org/x/sync golang.org/x/sys`,
	},
	"internal/cli/executors": {
		own:     `exchange/remote/httpclient internal/cli/client internal/cli/output mess`,
		modules: `github.com/spf13/cobra`,
	},
	"internal/cli/fleet": {
		own:     `exchange exchange/keys internal/process/child internal/resources internal/wait mess mess/topic`,
		modules: `github.com/eclipse/paho.mqtt.golang golang.org/x/sync`,
	},
	"internal/cli/journal": {
		own:     `agent/journal internal/cli/client internal/cli/output internal/config mess`,
		modules: `github.com/spf13/cobra`,
	},
	"internal/cli/keys": {
		own: `exchange/channel/mqtt exchange/keys exchange/remote/httpclient internal/cli/client
			internal/cli/output internal/config internal/durable mess`,
		modules: `github.com/spf13/cobra`,
	},
	"internal/cli/mcpserver": {
		own: `agent/journal exchange exchange/channel/mcp exchange/remote/httpclient
			internal/cli/client internal/cli/output internal/config internal/daemon
			internal/durable mess`,
		modules: `github.com/spf13/cobra`,
	},
	"internal/cli/mesh": {
		own: `exchange/channel/mesh exchange/channel/mesh/state exchange/channel/mesh/wire
			exchange/remote/httpclient internal/cli/client internal/cli/output internal/wait mess`,
		modules: `github.com/spf13/cobra`,
	},
	"internal/cli/output": {
		own:     `exchange exchange/remote/httpclient internal/cleantext internal/terminal mess`,
		modules: `github.com/spf13/cobra`,
	},
	"internal/cli/top": {
		own: `exchange/remote/httpclient internal/cli/client internal/cli/output internal/terminal
			internal/wait`,
		modules: `github.com/spf13/cobra golang.org/x/sync`,
	},
	"internal/cli/requests": {
		own: `agent/selftest capabilities capabilities/interpret exchange/remote/httpclient
			internal/cli/client internal/cli/output internal/config internal/daemon
			internal/daemon/inspect internal/wait mess`,
		modules: `github.com/spf13/cobra`,
	},
	"internal/cli/safety": {
		own: `agent/localpolicy agent/policy agent/stop exchange exchange/remote/httpclient
			internal/cli/client internal/cli/output internal/config internal/daemon internal/peer
			mess`,
		modules: `github.com/spf13/cobra`,
	},
	"internal/cli/store": {
		own: `exchange/keys exchange/push exchange/store/files exchange/store/jetstream exchange/store/transfer exchange/thread
			internal/cli/output internal/config/natsstore internal/durable internal/terminal mess`,
		modules: `github.com/nats-io/nkeys github.com/spf13/cobra`,
	},
	"internal/cli/thread": {
		own: `exchange/keys exchange/store/files exchange/store/files/archive
			exchange/store/files/external exchange/store/files/tree internal/cli/client
			internal/cli/output internal/config internal/daemon internal/wait mess mess/messeaf
			mess/receipt`,
		modules: `github.com/spf13/cobra`,
	},
	"internal/config": {
		own: `agent/clock agent/device agent/localpolicy agent/policy agent/policy/settings
			agent/resolver agent/runtime agent/stop capabilities capabilities/catalog
			capabilities/interpret drivers exchange exchange/channel/agentmail
			exchange/channel/httpapi exchange/channel/mcp exchange/channel/mesh/peers
			exchange/channel/webhook exchange/keys exchange/remote exchange/remote/httpclient
			exchange/remote/mqttclient exchange/remote/natsclient exchange/remote/reference exchange/routing
			exchange/store/files internal/broker internal/cli/output internal/config/natsstore internal/durable
			internal/natslink internal/otlp internal/picture internal/secret internal/strictyaml mess mess/topic`,
	},
	"internal/config/natsstore": {own: `exchange/store/jetstream internal/natslink internal/strictyaml mess`},
	"internal/config/discovery": {
		own: `agent/device capabilities capabilities/catalog drivers drivers/all drivers/discovery
			drivers/mqttdevice internal/cli/output internal/config internal/strictyaml`,
		modules: `github.com/spf13/cobra golang.org/x/sync`,
	},
	"internal/config/edit": {
		own:     `internal/durable internal/strictyaml`,
		modules: `gopkg.in/yaml.v3`,
	},
	"internal/daemon/setup": {
		own: `agent/policy/settings drivers drivers/mqttdevice internal/config internal/config/discovery internal/config/edit
			internal/durable internal/strictyaml mess`,
	},
	"internal/daemon": {
		own: `internal/daemon/setup agent agent/device agent/journal agent/live agent/localpolicy agent/policy agent/policy/settings
			agent/resolver agent/runtime agent/stop agent/watchdog capabilities capabilities/catalog drivers
			drivers/all exchange exchange/channel/agentmail exchange/channel/agentmail/mailbox
			exchange/channel/console exchange/channel/httpapi exchange/channel/mcp
			exchange/channel/mesh exchange/channel/mqtt exchange/channel/natsapi exchange/channel/webhook exchange/history
			exchange/home exchange/keys exchange/live exchange/notices exchange/push exchange/retain exchange/remote exchange/remote/httpclient exchange/remote/mqttclient exchange/remote/natsclient exchange/spans
			exchange/store/files exchange/store/files/external exchange/store/transfer internal/battery internal/broker
			internal/cli/output internal/config internal/config/discovery internal/daemon/inspect internal/daemon/sites internal/daemon/status internal/daemon/store
			internal/daemon/watchdog internal/durable internal/gcpace internal/metrics internal/natslink internal/otlp internal/picture
			internal/resources internal/secret internal/strictyaml internal/wait mess mess/messeaf
			mess/receipt mess/topic`,
		modules: `github.com/spf13/cobra golang.org/x/sync`,
	},
	"internal/daemon/inspect": {
		own: `agent/device agent/journal agent/policy agent/policy/settings agent/resolver
			agent/selftest agent/stop agent/task capabilities capabilities/phrase
			internal/cli/output internal/config
			internal/daemon/status mess`,
		modules: `golang.org/x/sync`,
	},
	"internal/daemon/status": {
		own: `agent/device agent/localpolicy capabilities/catalog exchange
			exchange/channel/agentmail exchange/channel/mqtt exchange/channel/natsapi exchange/channel/sites exchange/remote/httpclient
			internal/cli/output internal/resources mess`,
	},
	"internal/daemon/sites": {
		own: `exchange exchange/channel/httpapi exchange/channel/sites exchange/keys exchange/store/jetstream internal/config
			internal/config/natsstore internal/daemon/status internal/metrics internal/natslink mess`,
		modules: `golang.org/x/sync`,
	},
	"internal/daemon/store": {
		own: `exchange/store/files exchange/store/jetstream exchange/store/transfer exchange/thread
			internal/config internal/daemon/status internal/wal`,
	},
	"internal/daemon/watchdog": {
		own:     `agent/watchdog drivers internal/durable`,
		modules: `golang.org/x/sync golang.org/x/sys`,
	},
}

// actorLayer has the executor, and the channels and clients of the exchange. Neither side imports
// the other.
var actorLayer = map[string]imports{
	"agent": {
		own: `agent/device agent/journal agent/live agent/policy agent/runtime agent/session
			agent/stop agent/task agent/wording capabilities drivers internal/picture internal/wait
			mess mess/receipt`,
		modules: `golang.org/x/sync`,
	},
	"agent/action": {
		own: `agent/device agent/imaging agent/policy agent/runtime agent/wording capabilities
			capabilities/catalog capabilities/interpret drivers internal/picture internal/unit
			internal/wait mess`,
		modules: `golang.org/x/sync`,
	},
	"agent/clock": {modules: `golang.org/x/sys`},
	"agent/device": {
		own: `agent/imaging agent/policy agent/poll agent/session agent/wording capabilities
			drivers internal/picture internal/wait mess`,
		modules: `golang.org/x/sync golang.org/x/time`,
	},
	"agent/imaging": {
		own:     `drivers internal/picture internal/wait`,
		modules: `golang.org/x/sync`,
	},
	"agent/live":    {own: `internal/wait`},
	"agent/journal": {own: `internal/durable internal/wal mess`},
	"agent/localpolicy": {
		own: `agent/journal agent/policy capabilities internal/durable internal/wal mess`,
	},
	"agent/policy": {
		own: `agent/journal agent/policy/settings capabilities drivers internal/order
			internal/suspend internal/wait mess`,
		modules: `golang.org/x/sync`,
	},
	"agent/policy/settings": {own: `capabilities drivers mess`},
	"agent/poll":            {own: `internal/timequeue internal/wait`},
	"agent/resolver": {
		own: `agent/device agent/runtime capabilities capabilities/catalog capabilities/interpret
			capabilities/resolve drivers mess`,
	},
	"agent/runtime": {
		own: `agent/imaging agent/policy agent/stop capabilities internal/picture mess
			mess/receipt`,
	},
	"agent/selftest": {own: `internal/localrpc`, modules: `golang.org/x/sync`},
	"agent/session":  {own: `agent/runtime internal/wait mess mess/receipt`},
	"agent/stop": {
		own:     `internal/board internal/durable internal/localrpc internal/wait`,
		modules: `github.com/fsnotify/fsnotify golang.org/x/sync`,
	},
	"agent/task": {
		own: `agent/action agent/device agent/imaging agent/journal agent/policy
			agent/policy/settings agent/runtime agent/session agent/wording capabilities
			capabilities/interpret capabilities/phrase drivers internal/picture internal/wait mess
			mess/receipt mess/traceparent`,
		modules: `golang.org/x/sync`,
	},
	"agent/watchdog": {own: `internal/suspend internal/wait`, modules: `golang.org/x/sync`},
	"agent/wording":  {own: `drivers mess`},
	"exchange/channel/agentmail": {
		own: `exchange exchange/channel/agentmail/format exchange/channel/agentmail/mailbox
			exchange/channel/proxy exchange/inbox internal/durable internal/keyed internal/picture
			internal/secret internal/wait mess mess/messeaf`,
		modules: `golang.org/x/sync`,
	},
	"exchange/channel/agentmail/format": {
		pure: true,
		own:  `internal/cleantext internal/strictyaml mess mess/messeaf`,
	},
	"exchange/channel/agentmail/mailbox": {
		own:     `internal/cleantext internal/order internal/secret`,
		modules: `github.com/modelcontextprotocol/go-sdk`,
	},
	"exchange/channel/agentmail/mailboxtest": {
		modules: `github.com/modelcontextprotocol/go-sdk`,
	},
	"exchange/channel/console": {
		own: `exchange exchange/access exchange/channel/console/state exchange/home exchange/keys
			exchange/notices exchange/push internal/ascii internal/order internal/peer internal/wait
			mess`,
		modules: `golang.org/x/sync golang.org/x/time rsc.io/qr`,
	},
	"exchange/channel/console/state": {own: `exchange exchange/notices mess`},
	"exchange/channel/httpapi": {
		own: `exchange exchange/access exchange/channel/httpapi/connection
			exchange/channel/httpapi/measure exchange/channel/httpapi/once exchange/history
			exchange/home exchange/keys exchange/live internal/metrics internal/mistake internal/peer internal/resources mess mess/messeaf
			mess/traceparent`,
		modules: `golang.org/x/sync golang.org/x/time`,
	},
	"exchange/channel/httpapi/connection": {own: `internal/resources`},
	"exchange/channel/httpapi/measure":    {own: `internal/metrics`},
	"exchange/channel/httpapi/once":       {},
	"exchange/channel/mcp": {
		own: `exchange internal/cleantext internal/picture internal/strictyaml internal/wait mess
			mess/messeaf`,
		modules: `github.com/modelcontextprotocol/go-sdk golang.org/x/sync`,
	},
	"exchange/channel/mesh": {
		own: `exchange exchange/channel/mesh/delivery exchange/channel/mesh/peers
			exchange/channel/mesh/state exchange/channel/mesh/wire exchange/channel/proxy
			exchange/inbox internal/durable internal/keyed internal/mistake internal/order
			internal/safehttp internal/secret internal/wait mess`,
		modules: `golang.org/x/sync golang.org/x/time`,
	},
	"exchange/channel/mesh/delivery": {
		own: `exchange/channel/mesh/state exchange/channel/mesh/wire internal/safehttp
			internal/secret internal/wait`,
	},
	"exchange/channel/mesh/peers": {
		own: `exchange exchange/channel/mesh/delivery exchange/channel/mesh/state
			exchange/channel/mesh/wire internal/durable internal/secret internal/wait mess`,
		modules: `golang.org/x/time`,
	},
	"exchange/channel/mesh/state": {own: `internal/durable`},
	"exchange/channel/mesh/wire":  {pure: true, own: `internal/ascii mess`},
	"exchange/channel/intake":     {own: `exchange mess`},
	"exchange/channel/mqtt": {
		own: `exchange exchange/channel/intake exchange/channel/mqtt/homeassistant exchange/inbox exchange/keys
			exchange/thread internal/broker internal/broker/port internal/keyed internal/mistake
			internal/peer internal/resources mess mess/topic`,
		modules: `github.com/mochi-mqtt/server/v2 golang.org/x/sync`,
	},
	"exchange/channel/mqtt/homeassistant": {
		own: `exchange internal/wait mess mess/messeaf mess/topic`,
	},
	"exchange/channel/natsapi": {
		own: `exchange exchange/channel/intake exchange/keys internal/keyed internal/mistake
			internal/natslink internal/wait mess`,
		modules: `github.com/nats-io/nats.go`,
	},
	"exchange/channel/proxy": {pure: true, own: `mess`},
	"exchange/channel/sites": {
		own:     `exchange internal/mistake internal/natslink internal/wait mess mess/messeaf`,
		modules: `github.com/nats-io/nats.go`,
	},
	"exchange/channel/webhook": {
		own: `exchange exchange/lease exchange/notices exchange/push exchange/thread internal/cleantext internal/durable
			internal/keyed internal/mistake internal/order internal/safehttp internal/wait mess mess/messeaf`,
		modules: `golang.org/x/sync`,
	},
	"exchange/home": {own: `exchange internal/wait mess`},
	"exchange/live": {
		own:     `exchange exchange/home internal/wait mess`,
		modules: `golang.org/x/sync`,
	},
	"exchange/inbox": {
		own: `exchange exchange/thread internal/keyed internal/mistake internal/wait mess
			mess/messeaf`,
	},
	"exchange/remote": {own: `exchange/remote/httpclient exchange/remote/reference mess`},
	"exchange/remote/httpclient": {
		own: `internal/address internal/secret internal/wait mess mess/messeaf`,
	},
	"exchange/remote/mailbox": {own: `exchange/remote/httpclient internal/wait mess mess/messeaf`},
	"exchange/remote/mqttclient": {
		own: `exchange/remote/httpclient exchange/remote/mailbox internal/broker internal/wait mess
			mess/topic`,
		modules: `golang.org/x/sync`,
	},
	"exchange/remote/natsclient": {
		own: `exchange/remote/httpclient exchange/remote/mailbox internal/mistake internal/natslink
			internal/wait mess`,
		modules: `github.com/nats-io/nats.go`,
	},
	"exchange/remote/reference": {own: `exchange/remote/httpclient internal/wait mess`},
}
