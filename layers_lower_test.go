package messkit_test

// componentLayer has the exchange, the drivers and the tools.
var componentLayer = map[string]imports{
	"docs/gobot": {own: `drivers drivers/gobotdevice`, modules: `gobot.io/x/gobot/v2`},
	"drivers":    {own: `internal/order internal/secret internal/strictyaml`},
	"drivers/*": {
		own: `drivers drivers/httpclient drivers/template internal/address internal/board
			internal/picture internal/process internal/wait`,
		modules: `gobot.io/x/gobot/v2 golang.org/x/sync golang.org/x/sys`,
	},
	"drivers/all":        {own: `drivers drivers/*`},
	"drivers/discovery":  {own: `internal/order`, modules: `golang.org/x/sync`},
	"drivers/drivertest": {own: `drivers`, modules: `github.com/google/go-cmp`},
	"drivers/homeassistant": {
		own:     `drivers drivers/discovery drivers/httpclient drivers/template internal/wait`,
		modules: `github.com/gorilla/websocket golang.org/x/sync`,
	},
	"drivers/httpclient":     {own: `drivers internal/address`},
	"drivers/httpdevice":     {own: `drivers drivers/discovery drivers/httpclient drivers/template`},
	"drivers/i2cdev/i2ctest": {own: `drivers/i2cdev`, modules: `gobot.io/x/gobot/v2`},
	"drivers/mqttclient": {
		own:     `drivers internal/wait`,
		modules: `github.com/eclipse/paho.mqtt.golang`,
	},
	"drivers/mqttdevice": {
		own: `drivers drivers/discovery drivers/httpclient drivers/mqttclient drivers/template
			internal/address internal/order`,
	},
	"drivers/onvif": {own: `drivers drivers/discovery drivers/httpclient`},
	"drivers/printer": {
		own: `drivers drivers/discovery drivers/httpclient internal/order internal/wait`,
	},
	"drivers/roombawifi": {
		own: `drivers drivers/discovery drivers/httpclient internal/address internal/ascii
			internal/wait`,
		modules: `github.com/eclipse/paho.mqtt.golang`,
	},
	"drivers/sim": {
		own:     `drivers drivers/sim/scene internal/durable internal/wait`,
		modules: `gobot.io/x/gobot/v2`,
	},
	"drivers/sim/scene": {own: `drivers`, modules: `golang.org/x/image`},
	"drivers/template": {
		own: `drivers internal/ascii internal/strictyaml internal/unit internal/wait`,
	},
	"drivers/template/templatetest": {own: `drivers`},
	"drivers/valetudo":              {own: `drivers drivers/discovery drivers/httpclient internal/wait`},
	"exchange": {
		own: `exchange/documents exchange/eventbus exchange/index exchange/lease exchange/meter exchange/registry
			exchange/routing exchange/thread exchange/transition internal/metrics internal/mistake
			internal/order internal/shrink internal/suspend internal/wait mess mess/messeaf mess/receipt mess/traceparent`,
		modules: `golang.org/x/sync`,
	},
	"exchange/access": {own: `exchange mess`},
	"exchange/documents": {
		own:     `exchange/thread internal/keyed internal/wait`,
		modules: `golang.org/x/sync`,
	},
	"exchange/eventbus": {own: `internal/shrink internal/timequeue internal/wait`},
	"exchange/history":  {own: `mess`},
	"exchange/index":    {own: `exchange/thread mess mess/messeaf`},
	"exchange/keys":     {own: `exchange internal/durable internal/order mess mess/receipt`},
	"exchange/meter":    {own: `exchange/thread internal/metrics mess`},
	"exchange/lease":    {own: `internal/wait mess`},
	"exchange/notices": {
		own:     `exchange exchange/lease exchange/thread internal/mistake internal/order internal/wait mess mess/messeaf`,
		modules: `golang.org/x/sync`,
	},
	"exchange/push":          {own: `internal/durable internal/safehttp mess`, modules: `github.com/SherClockHolmes/webpush-go`},
	"exchange/push/pushtest": {own: `exchange/push`},
	"exchange/registry":      {own: `exchange/documents exchange/routing exchange/thread mess`},
	"exchange/routing": {
		own:     `exchange/thread mess mess/receipt`,
		modules: `github.com/robfig/cron/v3`,
	},
	"exchange/retain": {own: `exchange/lease internal/wait`},
	"exchange/store/files": {
		own: `exchange/store/files/archive exchange/store/files/blobs exchange/store/files/cache
			exchange/store/files/external exchange/store/files/logformat exchange/store/files/printing
			exchange/store/files/tree exchange/store/tail exchange/thread internal/durable internal/keyed internal/mistake
			internal/order internal/shrink internal/wait internal/wal mess mess/messeaf`,
		modules: `github.com/fsnotify/fsnotify golang.org/x/sync`,
	},
	"exchange/store/files/archive": {
		own: `exchange/store/files/printing exchange/store/files/tree exchange/thread mess mess/messeaf`,
	},
	"exchange/store/files/blobs": {own: `exchange/thread internal/durable`},
	"exchange/store/files/cache": {own: `exchange/thread`},
	"exchange/store/files/external": {
		own: `exchange/store/files/archive exchange/store/files/logformat exchange/store/files/tree
			exchange/thread internal/durable internal/wal mess mess/messeaf`,
	},
	"exchange/store/files/logformat": {
		pure:    true,
		own:     `exchange/thread mess`,
		modules: `github.com/segmentio/encoding`,
	},
	"exchange/store/files/printing": {own: `mess mess/messeaf`},
	"exchange/store/files/tree": {
		own:     `internal/durable mess/messeaf`,
		modules: `golang.org/x/sys`,
	},
	"exchange/store/jetstream": {
		own: `exchange/store/files/archive exchange/store/files/external exchange/store/files/logformat exchange/store/snapshot exchange/thread
			internal/natslink internal/wait mess mess/messeaf`,
		modules: `github.com/nats-io/nats.go`,
	},
	"exchange/store/memory":   {own: `exchange/store/tail exchange/thread mess mess/messeaf`},
	"exchange/store/snapshot": {own: `exchange/store/files/logformat exchange/thread mess mess/messeaf`, modules: `golang.org/x/sync`},
	"exchange/store/storetest": {
		own:     `exchange/thread mess mess/messeaf`,
		modules: `github.com/google/go-cmp golang.org/x/sync`,
	},
	"exchange/store/tail": {own: `exchange/thread internal/wait mess`},
	"exchange/store/transfer": {
		own: `exchange/store/files/external exchange/thread internal/wait mess mess/messeaf`, modules: `golang.org/x/sync`,
	},
	"exchange/spans":      {own: `exchange/thread internal/otlp mess mess/traceparent`},
	"exchange/thread":     {own: `mess mess/messeaf mess/traceparent`},
	"exchange/transition": {pure: true, own: `exchange/thread mess mess/messeaf`},
	"internal/address":    {},
	"internal/battery":    {own: `mess`},
	"internal/board": {
		modules: `github.com/warthog618/go-gpiocdev gobot.io/x/gobot/v2 golang.org/x/sys`,
	},
	"internal/board/boardtest": {own: `internal/board`},
	"internal/broker": {
		own:     `internal/address internal/mistake internal/wait`,
		modules: `github.com/eclipse/paho.mqtt.golang golang.org/x/sync`,
	},
	"internal/broker/brokertest": {modules: `github.com/eclipse/paho.mqtt.golang`},
	"internal/broker/port": {
		own:     `internal/mistake internal/resources`,
		modules: `github.com/mochi-mqtt/server/v2`,
	},
	"internal/durable":       {},
	"internal/freeport":      {},
	"internal/gcpace":        {},
	"internal/keyed":         {own: `internal/shrink`},
	"internal/localrpc":      {},
	"internal/metrics":       {},
	"internal/natslink":      {own: `internal/strictyaml`, modules: `github.com/nats-io/nats.go`},
	"internal/otlp":          {own: `internal/wait`},
	"internal/mistake":       {},
	"internal/peer":          {},
	"internal/peer/peertest": {},
	"internal/process":       {},
	"internal/process/child": {},
	"internal/resources":     {modules: `golang.org/x/sys`},
	"internal/safehttp":      {},
	"internal/secret":        {},
	"internal/shrink":        {},
	"internal/suspend":       {modules: `golang.org/x/sys`},
	"internal/terminal": {
		own:     `internal/cleantext`,
		modules: `golang.org/x/sys golang.org/x/term`,
	},
	"internal/test/chromium": {
		modules: `github.com/chromedp/cdproto github.com/chromedp/chromedp`,
	},
	"internal/test/disk":            {modules: `golang.org/x/sys`},
	"internal/test/freeport":        {own: `internal/freeport`},
	"internal/test/go2rtc":          {own: `internal/test/freeport`},
	"internal/test/hil/guest":       {modules: `golang.org/x/sys`},
	"internal/test/link":            {},
	"internal/test/natsserver":      {own: `internal/test/freeport`},
	"internal/test/pagetest":        {},
	"internal/test/promtool":        {},
	"internal/test/referenceserver": {},
	"internal/test/scenario":        {own: `exchange mess`},
	"internal/timequeue":            {},
	"internal/wait":                 {},
	"internal/wal":                  {own: `internal/durable`},
}

// languageLayer has the language and the messages. Its packages are pure.
var languageLayer = map[string]imports{
	"capabilities": {pure: true, own: `mess`},
	"capabilities/catalog": {
		pure: true,
		own: `capabilities capabilities/grammar capabilities/lexicon internal/strictyaml
			internal/unit mess`,
	},
	"capabilities/entity": {
		pure: true,
		own:  `capabilities capabilities/catalog capabilities/grammar capabilities/lexicon`,
	},
	"capabilities/frame": {
		pure: true,
		own: `capabilities/catalog capabilities/entity capabilities/grammar capabilities/lexicon
			capabilities/timeexpr internal/order`,
	},
	"capabilities/grammar": {pure: true, own: `capabilities capabilities/lexicon mess`},
	"capabilities/interpret": {
		pure: true,
		own: `capabilities capabilities/catalog capabilities/entity capabilities/frame
			capabilities/grammar capabilities/lexicon capabilities/reply capabilities/resolve
			capabilities/timeexpr mess`,
	},
	"capabilities/lexicon": {pure: true, own: `capabilities`},
	"capabilities/phrase":  {pure: true, own: `capabilities mess`},
	"capabilities/reply": {
		pure: true,
		own:  `capabilities capabilities/entity capabilities/lexicon mess`,
	},
	"capabilities/resolve": {
		pure: true,
		own: `capabilities capabilities/catalog capabilities/entity capabilities/frame
			capabilities/grammar capabilities/lexicon capabilities/reply capabilities/timeexpr
			internal/order mess`,
	},
	"capabilities/timeexpr": {
		pure: true,
		own:  `capabilities capabilities/entity capabilities/lexicon`,
	},
	"internal/ascii":     {pure: true},
	"internal/cleantext": {pure: true},
	"internal/order":     {pure: true},
	"internal/picture": {
		pure:    true,
		own:     `internal/picture/dctjpeg`,
		modules: `github.com/disintegration/imaging golang.org/x/image`,
	},
	"internal/picture/dctjpeg": {pure: true},
	"internal/strictyaml": {
		pure:    true,
		own:     `internal/cleantext internal/order`,
		modules: `gopkg.in/yaml.v3`,
	},
	"internal/unit": {pure: true},
	"mess":          {pure: true, own: `internal/ascii internal/strictyaml`},
	"mess/messeaf": {
		pure: true,
		own:  `internal/ascii internal/order internal/strictyaml mess`,
	},
	"mess/receipt":     {pure: true, own: `mess mess/messeaf`},
	"mess/traceparent": {pure: true, own: `mess`},
	"mess/topic":       {pure: true, own: `internal/ascii`},
}
