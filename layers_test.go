package messkit_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/messkit/messkit/"

// A layer specifies the imports that one package may have beyond the standard library.
type layer struct {
	pure  bool     // no clock, file, network, log or goroutine
	below []string // packages of this module; "x/*" is every folder in x
	from  []string // modules of others
}

// layers is the table of permitted imports. A package imports only packages of its own layer or
// of a lower one. A package that is not in the table fails the test. "x/*" stands for each folder
// in x without its own line.
var layers = map[string]layer{
	// Layer 3, the program: it connects all packages and contains no rules.
	"cmd/messkit": {below: []string{"."}},
	".":           {below: []string{"drivers", "drivers/all", "internal/cli", "internal/cli/output", "internal/daemon", "internal/daemon/watchdog", "internal/strictyaml"}},

	"internal/cli/output":       {below: []string{"exchange", "exchange/remote/httpclient", "internal/cleantext", "internal/terminal", "mess"}, from: []string{"github.com/spf13/cobra"}},
	"internal/cli":              {below: []string{"agent/localpolicy", "agent/watchdog", "agent/journal", "capabilities/catalog", "drivers", "drivers/all", "drivers/mqttdevice", "exchange/channel/agentmail", "exchange/remote/httpclient", "internal/cli/client", "internal/cli/doctor", "internal/cli/executors", "internal/cli/fleet", "internal/cli/journal", "internal/cli/keys", "internal/cli/mcpserver", "internal/cli/mesh", "internal/cli/output", "internal/cli/requests", "internal/cli/safety", "internal/cli/thread", "internal/config", "internal/config/discovery", "internal/daemon", "internal/daemon/watchdog", "internal/durable", "internal/picture", "internal/terminal", "mess"}, from: []string{"github.com/spf13/cobra"}},
	"internal/daemon":           {below: []string{"agent", "agent/device", "agent/resolver", "agent/task", "agent/localpolicy", "agent/policy", "agent/watchdog", "agent/journal", "agent/stop", "agent/selftest", "capabilities", "capabilities/catalog", "drivers", "drivers/all", "exchange", "exchange/channel/agentmail", "exchange/channel/agentmail/mailbox", "exchange/channel/console", "exchange/channel/httpapi", "exchange/keys", "exchange/channel/mcp", "exchange/channel/mesh", "exchange/channel/mqtt", "exchange/remote", "exchange/remote/httpclient", "exchange/remote/mqttclient", "exchange/store/files", "exchange/channel/webhook", "internal/broker", "internal/cli/output", "internal/collector", "internal/config", "internal/config/discovery", "internal/daemon/watchdog", "internal/durable", "internal/picture", "internal/resources", "internal/secret", "internal/strictyaml", "internal/wait", "mess", "mess/messeaf", "mess/receipt", "mess/topic"}, from: []string{"github.com/spf13/cobra", "golang.org/x/sync", "golang.org/x/sys"}},
	"internal/daemon/watchdog":  {below: []string{"agent/watchdog", "drivers", "internal/durable"}, from: []string{"golang.org/x/sync", "golang.org/x/sys"}},
	"internal/config":           {below: []string{"agent/device", "agent/resolver", "agent/runtime", "agent/localpolicy", "agent/clock", "agent/policy", "agent/stop", "capabilities", "capabilities/catalog", "capabilities/interpret", "drivers", "drivers/all", "exchange", "exchange/channel/agentmail", "exchange/channel/httpapi", "exchange/keys", "exchange/channel/mcp", "exchange/channel/mesh", "exchange/remote", "exchange/remote/httpclient", "exchange/remote/mqttclient", "exchange/remote/reference", "exchange/routing", "exchange/store/files", "exchange/channel/webhook", "internal/broker", "internal/cli/output", "internal/durable", "internal/picture", "internal/secret", "internal/strictyaml", "mess", "mess/topic"}},
	"internal/config/discovery": {below: []string{"agent/device", "capabilities", "capabilities/catalog", "drivers", "drivers/all", "drivers/mdns", "drivers/mqttdevice", "internal/cli/output", "internal/config", "internal/strictyaml"}, from: []string{"github.com/spf13/cobra", "golang.org/x/sync"}},
	"internal/cli/client":       {below: []string{"agent/selftest", "exchange/remote/httpclient", "internal/cli/output", "internal/config", "internal/daemon", "internal/order", "internal/picture", "internal/terminal", "internal/wait", "mess", "mess/messeaf"}, from: []string{"github.com/spf13/cobra", "golang.org/x/sync"}},
	"internal/cli/mcpserver":    {below: []string{"agent/journal", "exchange", "exchange/channel/mcp", "exchange/remote/httpclient", "internal/cli/client", "internal/cli/output", "internal/config", "internal/daemon", "internal/durable", "mess"}, from: []string{"github.com/spf13/cobra"}},
	"internal/cli/requests":     {below: []string{"agent/selftest", "capabilities", "capabilities/interpret", "exchange/remote/httpclient", "internal/cli/client", "internal/cli/output", "internal/config", "internal/daemon", "mess"}, from: []string{"github.com/spf13/cobra"}},
	"internal/cli/safety":       {below: []string{"agent/localpolicy", "agent/policy", "agent/stop", "exchange", "exchange/remote/httpclient", "internal/cli/client", "internal/cli/output", "internal/config", "internal/daemon", "internal/peer", "mess"}, from: []string{"github.com/spf13/cobra"}},
	"internal/cli/thread":       {below: []string{"exchange/keys", "exchange/store/files", "internal/cli/client", "internal/cli/output", "internal/config", "internal/daemon", "mess", "mess/messeaf", "mess/receipt"}, from: []string{"github.com/spf13/cobra"}},
	"internal/cli/journal":      {below: []string{"agent/journal", "internal/cli/client", "internal/cli/output", "internal/config", "mess"}, from: []string{"github.com/spf13/cobra"}},
	"internal/cli/keys":         {below: []string{"exchange/keys", "exchange/channel/mqtt", "exchange/remote/httpclient", "internal/cli/client", "internal/cli/output", "internal/config", "internal/durable", "mess"}, from: []string{"github.com/spf13/cobra"}},
	"internal/cli/mesh":         {below: []string{"exchange/channel/mesh", "exchange/channel/mesh/state", "exchange/channel/mesh/wire", "exchange/remote/httpclient", "internal/cli/client", "internal/cli/output", "internal/wait", "mess"}, from: []string{"github.com/spf13/cobra"}},
	"internal/cli/doctor":       {below: []string{"agent/device", "agent/localpolicy", "agent/stop", "agent/selftest", "drivers/all", "drivers/mqttdevice", "exchange/keys", "exchange/remote", "exchange/remote/httpclient", "internal/broker", "internal/cli/client", "internal/cli/output", "internal/config", "internal/config/discovery", "internal/daemon", "internal/resources", "internal/strictyaml", "internal/terminal", "mess"}, from: []string{"github.com/spf13/cobra", "golang.org/x/sync", "golang.org/x/sys"}},
	"internal/cli/executors":    {below: []string{"exchange/remote/httpclient", "internal/cli/client", "internal/cli/output", "mess"}, from: []string{"github.com/spf13/cobra"}},
	"internal/cli/fleet": {
		below: []string{"exchange", "exchange/keys", "internal/resources", "internal/wait", "mess", "mess/topic"},
		from:  []string{"github.com/eclipse/paho.mqtt.golang", "golang.org/x/sync"},
	},

	// Layer 2, the executor, and the channels and clients of the exchange: neither imports the
	// other.
	"agent":                    {below: []string{"agent/device", "agent/journal", "agent/policy", "agent/runtime", "agent/session", "agent/stop", "agent/task", "agent/wording", "capabilities", "drivers", "internal/wait", "mess", "mess/receipt"}, from: []string{"golang.org/x/sync"}},
	"agent/task":               {below: []string{"agent/action", "agent/device", "agent/imaging", "agent/journal", "agent/policy", "agent/runtime", "agent/session", "agent/wording", "capabilities", "capabilities/interpret", "drivers", "internal/picture", "internal/wait", "mess", "mess/receipt"}, from: []string{"golang.org/x/sync"}},
	"agent/action":             {below: []string{"agent/device", "agent/imaging", "agent/policy", "agent/runtime", "agent/wording", "capabilities", "capabilities/catalog", "capabilities/interpret", "drivers", "internal/picture", "internal/wait", "internal/unit", "mess"}, from: []string{"golang.org/x/sync"}},
	"agent/resolver":           {below: []string{"agent/device", "agent/runtime", "capabilities", "capabilities/catalog", "capabilities/interpret", "capabilities/resolve", "drivers", "mess"}},
	"agent/device":             {below: []string{"agent/imaging", "agent/policy", "agent/poll", "agent/session", "agent/wording", "capabilities", "drivers", "internal/picture", "internal/wait", "mess"}, from: []string{"golang.org/x/sync"}},
	"agent/session":            {below: []string{"agent/runtime", "internal/wait", "mess", "mess/receipt"}},
	"agent/runtime":            {below: []string{"agent/imaging", "agent/policy", "agent/stop", "capabilities", "internal/picture", "mess", "mess/receipt"}},
	"agent/wording":            {below: []string{"drivers", "mess"}},
	"agent/policy":             {below: []string{"agent/journal", "capabilities", "drivers", "internal/order", "internal/suspend", "internal/wait", "mess"}, from: []string{"golang.org/x/sync"}},
	"agent/poll":               {below: []string{"internal/timequeue", "internal/wait"}},
	"agent/imaging":            {below: []string{"drivers", "internal/picture", "internal/wait"}, from: []string{"golang.org/x/sync"}},
	"agent/watchdog":           {below: []string{"internal/suspend", "internal/wait"}, from: []string{"golang.org/x/sync"}},
	"agent/localpolicy":        {below: []string{"agent/policy", "agent/journal", "capabilities", "internal/durable", "internal/wal", "mess"}},
	"agent/clock":              {from: []string{"golang.org/x/sys"}},
	"agent/stop":               {below: []string{"drivers/board", "internal/atplace", "internal/durable", "internal/wait"}, from: []string{"github.com/fsnotify/fsnotify", "golang.org/x/sync"}},
	"agent/selftest":           {below: []string{"internal/atplace"}, from: []string{"golang.org/x/sync"}},
	"agent/journal":            {below: []string{"internal/durable", "internal/wal", "mess"}, from: []string{"golang.org/x/sync"}},
	"exchange/channel/httpapi": {below: []string{"exchange", "exchange/keys", "internal/mistake", "internal/peer", "internal/resources", "mess", "mess/messeaf"}, from: []string{"golang.org/x/sync", "golang.org/x/time"}},
	"exchange/channel/console": {
		below: []string{"exchange", "exchange/keys", "internal/peer", "mess"},
		from:  []string{"golang.org/x/sync", "golang.org/x/time", "rsc.io/qr"},
	},
	"exchange/channel/agentmail/format": {pure: true, below: []string{"internal/cleantext", "internal/strictyaml", "mess", "mess/messeaf"}},
	"exchange/channel/agentmail/mailbox": {
		below: []string{"internal/cleantext", "internal/order", "internal/secret"}, from: []string{"github.com/modelcontextprotocol/go-sdk"},
	},
	"exchange/channel/agentmail/mailboxtest": {from: []string{"github.com/modelcontextprotocol/go-sdk"}},
	"exchange/channel/agentmail": {
		below: []string{"exchange", "exchange/channel/agentmail/format", "exchange/channel/agentmail/mailbox", "exchange/channel/proxy", "exchange/inbox", "internal/durable", "internal/keyed", "internal/picture", "internal/secret", "internal/wait", "mess", "mess/messeaf"},
		from:  []string{"golang.org/x/sync"},
	},
	"exchange/channel/mcp": {
		below: []string{"exchange", "internal/cleantext", "internal/picture", "internal/strictyaml", "internal/wait", "mess", "mess/messeaf"},
		from:  []string{"github.com/modelcontextprotocol/go-sdk", "golang.org/x/sync"},
	},
	"exchange/channel/mesh": {
		below: []string{"exchange", "exchange/inbox", "exchange/channel/mesh/delivery", "exchange/channel/mesh/state", "exchange/channel/mesh/wire", "exchange/channel/proxy", "internal/durable", "internal/guarded", "internal/keyed", "internal/mistake", "internal/order", "internal/secret", "internal/wait", "mess"},
		from:  []string{"golang.org/x/sync", "golang.org/x/time"},
	},
	"exchange/channel/mesh/delivery":      {below: []string{"exchange/channel/mesh/state", "exchange/channel/mesh/wire", "internal/guarded", "internal/secret", "internal/wait"}},
	"exchange/channel/mesh/state":         {below: []string{"internal/durable"}},
	"exchange/channel/mesh/wire":          {pure: true, below: []string{"mess"}},
	"exchange/channel/proxy":              {pure: true, below: []string{"mess"}},
	"exchange/channel/webhook":            {below: []string{"exchange", "exchange/thread", "internal/cleantext", "internal/durable", "internal/guarded", "internal/keyed", "internal/mistake", "internal/wait", "mess", "mess/messeaf"}, from: []string{"golang.org/x/sync"}},
	"exchange/channel/mqtt/homeassistant": {below: []string{"exchange", "internal/wait", "mess", "mess/messeaf", "mess/topic"}},
	"exchange/channel/mqtt": {
		below: []string{"exchange", "exchange/channel/mqtt/homeassistant", "exchange/inbox", "exchange/keys", "exchange/thread", "internal/broker", "internal/broker/port", "internal/keyed", "internal/mistake", "internal/peer", "internal/resources", "internal/wait", "mess", "mess/messeaf", "mess/topic"},
		from:  []string{"github.com/mochi-mqtt/server/v2", "golang.org/x/sync"},
	},
	"exchange/inbox":             {below: []string{"exchange", "exchange/thread", "internal/keyed", "internal/mistake", "internal/wait", "mess", "mess/messeaf"}},
	"exchange/remote":            {below: []string{"exchange/remote/httpclient", "exchange/remote/reference", "mess"}},
	"exchange/remote/httpclient": {below: []string{"internal/address", "internal/secret", "internal/wait", "mess", "mess/messeaf"}},
	"exchange/remote/mqttclient": {below: []string{"exchange/remote/httpclient", "internal/broker", "internal/wait", "mess", "mess/messeaf", "mess/topic"}, from: []string{"golang.org/x/sync"}},
	"exchange/remote/reference":  {below: []string{"exchange/remote/httpclient", "internal/wait", "mess", "mess/messeaf"}},

	// Layer 1, components.
	"exchange":                      {below: []string{"exchange/documents", "exchange/eventbus", "exchange/index", "exchange/registry", "exchange/routing", "exchange/thread", "exchange/transition", "internal/mistake", "internal/order", "internal/suspend", "internal/wait", "mess", "mess/messeaf", "mess/receipt"}, from: []string{"golang.org/x/sync"}},
	"exchange/registry":             {below: []string{"exchange/documents", "exchange/routing", "exchange/thread", "mess"}},
	"exchange/documents":            {below: []string{"exchange/thread", "internal/keyed", "internal/wait"}, from: []string{"golang.org/x/sync"}},
	"exchange/eventbus":             {below: []string{"internal/timequeue", "internal/wait"}},
	"exchange/transition":           {pure: true, below: []string{"exchange/thread", "mess", "mess/messeaf"}},
	"exchange/routing":              {below: []string{"exchange/thread", "mess", "mess/receipt"}, from: []string{"github.com/robfig/cron/v3"}},
	"exchange/thread":               {below: []string{"mess", "mess/messeaf"}},
	"exchange/store/memory":         {below: []string{"exchange/store/tail", "exchange/thread", "mess", "mess/messeaf"}},
	"exchange/store/files":          {below: []string{"exchange/store/tail", "exchange/thread", "internal/durable", "internal/keyed", "internal/mistake", "internal/order", "internal/wait", "internal/wal", "mess", "mess/messeaf"}, from: []string{"github.com/fsnotify/fsnotify", "golang.org/x/sync", "golang.org/x/sys"}},
	"exchange/store/tail":           {below: []string{"exchange/thread", "internal/wait", "mess"}},
	"exchange/index":                {below: []string{"exchange/thread", "mess", "mess/messeaf"}},
	"internal/keyed":                {},
	"internal/timequeue":            {},
	"exchange/store/storetest":      {below: []string{"exchange/thread", "mess", "mess/messeaf"}, from: []string{"github.com/google/go-cmp", "golang.org/x/sync"}},
	"exchange/keys":                 {below: []string{"exchange", "internal/durable", "internal/order", "mess", "mess/receipt"}},
	"internal/test/referenceserver": {},
	"drivers":                       {below: []string{"internal/order", "internal/secret", "internal/strictyaml"}},
	"docs/gobot":                    {below: []string{"drivers", "drivers/gobotdevice"}, from: []string{"gobot.io/x/gobot/v2"}},
	"internal/test/scenario":        {below: []string{"exchange", "mess"}},
	"drivers/all":                   {below: []string{"drivers", "drivers/*"}},
	"drivers/drivertest":            {below: []string{"drivers"}, from: []string{"github.com/google/go-cmp"}},
	"drivers/mdns":                  {below: []string{"internal/order"}, from: []string{"golang.org/x/sync"}},
	"drivers/homeassistant": {
		below: []string{"drivers", "drivers/family", "drivers/mdns", "drivers/web", "internal/wait"},
		from:  []string{"github.com/gorilla/websocket", "golang.org/x/sync"},
	},
	"drivers/onvif": {
		below: []string{"drivers", "drivers/mdns", "drivers/web"},
	},
	"drivers/printer": {
		below: []string{"drivers", "drivers/mdns", "drivers/web", "internal/order"},
	},
	"drivers/valetudo": {
		below: []string{"drivers", "drivers/mdns", "drivers/web", "internal/wait"},
	},
	"drivers/roombawifi": {
		below: []string{"drivers", "drivers/mdns", "drivers/web", "internal/address", "internal/ascii", "internal/wait"}, from: []string{"github.com/eclipse/paho.mqtt.golang"},
	},
	"drivers/mqttclient": {below: []string{"drivers", "internal/wait"}, from: []string{"github.com/eclipse/paho.mqtt.golang"}},
	"drivers/mqttdevice": {
		below: []string{"drivers", "drivers/family", "drivers/mdns", "drivers/mqttclient", "drivers/web", "internal/address", "internal/order"},
	},
	"drivers/httpdevice": {
		below: []string{"drivers", "drivers/family", "drivers/mdns", "drivers/web"},
	},
	"drivers/sim": {
		below: []string{"drivers", "internal/durable", "internal/picture", "internal/wait"},
		from:  []string{"gobot.io/x/gobot/v2", "golang.org/x/image", "golang.org/x/sync"},
	},
	"drivers/board":              {from: []string{"gobot.io/x/gobot/v2", "github.com/warthog618/go-gpiocdev", "golang.org/x/sys"}},
	"drivers/command":            {},
	"drivers/board/boardtest":    {below: []string{"drivers/board"}},
	"drivers/web":                {below: []string{"drivers", "internal/address"}},
	"drivers/family/familytest":  {below: []string{"drivers"}},
	"drivers/family":             {below: []string{"drivers", "internal/ascii", "internal/strictyaml", "internal/unit", "internal/wait"}},
	"drivers/*":                  {below: []string{"drivers", "drivers/board", "drivers/command", "drivers/family", "drivers/web", "internal/address", "internal/picture", "internal/wait"}, from: []string{"gobot.io/x/gobot/v2", "golang.org/x/sync", "golang.org/x/sys"}},
	"internal/broker/brokertest": {from: []string{"github.com/eclipse/paho.mqtt.golang"}},
	"internal/broker/port":       {below: []string{"internal/mistake", "internal/resources"}, from: []string{"github.com/mochi-mqtt/server/v2"}},
	"internal/broker":            {below: []string{"internal/address", "internal/mistake", "internal/wait"}, from: []string{"github.com/eclipse/paho.mqtt.golang", "golang.org/x/sync"}},
	"drivers/i2cdev/i2ctest":     {below: []string{"drivers/i2cdev"}, from: []string{"gobot.io/x/gobot/v2"}},
	"internal/address":           {},
	"internal/atplace":           {},
	"internal/collector":         {},
	"internal/durable":           {},
	"internal/freeport":          {},
	"internal/suspend":           {from: []string{"golang.org/x/sys"}},
	"internal/guarded":           {},
	"internal/mistake":           {},
	"internal/wait":              {},
	"internal/pagetest":          {},
	"internal/peer":              {},
	"internal/peer/peertest":     {},
	"internal/resources":         {from: []string{"golang.org/x/sys"}},
	"internal/secret":            {},
	"internal/terminal":          {below: []string{"internal/cleantext"}, from: []string{"golang.org/x/sys", "golang.org/x/term"}},
	"internal/manual":            {from: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"}},
	"internal/hil":               {},
	"internal/hil/cp2112":        {},
	"internal/hil/guest":         {from: []string{"golang.org/x/sys"}},
	"internal/chromium":          {from: []string{"github.com/chromedp/cdproto", "github.com/chromedp/chromedp"}},
	"internal/go2rtc":            {below: []string{"internal/freeport"}},
	"internal/wal":               {below: []string{"internal/durable"}, from: []string{"golang.org/x/sync"}},

	// Layer 0, language and messages: pure packages.
	"capabilities":           {pure: true, below: []string{"mess"}},
	"capabilities/lexicon":   {pure: true, below: []string{"capabilities"}},
	"capabilities/grammar":   {pure: true, below: []string{"capabilities", "capabilities/lexicon", "mess"}},
	"capabilities/catalog":   {pure: true, below: []string{"capabilities", "capabilities/grammar", "capabilities/lexicon", "internal/order", "internal/strictyaml", "internal/unit", "mess"}},
	"capabilities/entity":    {pure: true, below: []string{"capabilities", "capabilities/catalog", "capabilities/grammar", "capabilities/lexicon"}},
	"capabilities/reply":     {pure: true, below: []string{"capabilities", "capabilities/entity", "capabilities/lexicon", "mess"}},
	"capabilities/timeexpr":  {pure: true, below: []string{"capabilities", "capabilities/entity", "capabilities/grammar", "capabilities/lexicon"}},
	"capabilities/frame":     {pure: true, below: []string{"capabilities", "capabilities/catalog", "capabilities/entity", "capabilities/grammar", "capabilities/lexicon", "capabilities/timeexpr", "internal/order"}},
	"capabilities/resolve":   {pure: true, below: []string{"capabilities", "capabilities/catalog", "capabilities/entity", "capabilities/frame", "capabilities/grammar", "capabilities/lexicon", "capabilities/reply", "capabilities/timeexpr", "internal/order", "mess"}},
	"capabilities/interpret": {pure: true, below: []string{"capabilities", "capabilities/catalog", "capabilities/entity", "capabilities/frame", "capabilities/grammar", "capabilities/lexicon", "capabilities/reply", "capabilities/resolve", "capabilities/timeexpr", "internal/order", "mess"}},
	"internal/ascii":         {pure: true},
	"internal/unit":          {pure: true},
	"internal/order":         {pure: true},
	"mess":                   {pure: true, below: []string{"internal/ascii", "internal/strictyaml"}},
	"mess/topic":             {pure: true, below: []string{"internal/ascii"}},
	"mess/receipt":           {pure: true, below: []string{"mess", "mess/messeaf"}},
	"mess/messeaf":           {pure: true, below: []string{"internal/ascii", "internal/order", "internal/strictyaml", "mess"}},
	"internal/cleantext":     {pure: true},
	"internal/strictyaml":    {pure: true, below: []string{"internal/cleantext", "internal/order"}, from: []string{"gopkg.in/yaml.v3"}},
	"internal/picture": {
		pure:  true,
		below: []string{"internal/picture/dctjpeg"},
		from:  []string{"github.com/disintegration/imaging", "golang.org/x/image"},
	},
	"internal/picture/dctjpeg":     {pure: true},
	"internal/picture/picturetest": {from: []string{"golang.org/x/image"}},
}

// impure is the list of packages that a pure package must not import. It includes the packages
// below them.
var impure = []string{"crypto/rand", "log", "math/rand", "net", "os", "os/exec", "runtime", "syscall", "unsafe"}

// clocks are the functions of package time that use a clock.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

func TestPackagesStandOnTheirFloors(t *testing.T) {
	found := packages(t)
	if len(found) == 0 {
		t.Fatal("no packages found; the test must run in the module's root")
	}
	for _, pkg := range slices.Sorted(maps.Keys(found)) {
		l, ok := layerOf(pkg)
		if !ok {
			t.Errorf("%s: not in the table of layers_test.go; decide its floor and add it", pkg)
			continue
		}
		for _, file := range found[pkg] {
			checkImports(t, pkg, l, file)
			if l.pure {
				checkPure(t, pkg, file)
			}
		}
	}
}

func layerOf(pkg string) (layer, bool) {
	if l, ok := layers[pkg]; ok {
		return l, true
	}
	l, ok := layers[path.Dir(pkg)+"/*"]
	return l, ok
}

// packages parses every file that is not a test, for every operating system. The keys are the
// folders of the packages.
func packages(t *testing.T) map[string][]*ast.File {
	t.Helper()
	found := map[string][]*ast.File{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(name, d)
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		pkg := filepath.ToSlash(filepath.Dir(name))
		found[pkg] = append(found[pkg], f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// skip returns fs.SkipDir for folders that are not part of the module.
func skip(name string, d fs.DirEntry) error {
	hidden := len(d.Name()) > 1 && strings.HasPrefix(d.Name(), ".")
	if hidden || d.Name() == "testdata" || name == "tools" || name == "firmware-examples" {
		return fs.SkipDir
	}
	return nil
}

func checkImports(t *testing.T, pkg string, l layer, file *ast.File) {
	t.Helper()
	for _, spec := range file.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		own, ours := strings.CutPrefix(imp+"/", module)
		own = cmp.Or(strings.TrimSuffix(own, "/"), ".")
		switch {
		case ours && !allowed(l.below, own):
			t.Errorf("%s imports %s, which is not below it", pkg, own)
		case !ours && strings.Contains(strings.Split(imp, "/")[0], ".") && !slices.ContainsFunc(l.from, within(imp)):
			t.Errorf("%s imports %s; if it must, say so in layers_test.go and in docs/decisions", pkg, imp)
		case l.pure && slices.ContainsFunc(impure, within(imp)):
			t.Errorf("%s imports %s, but is pure: no clock, file, network, log or goroutine", pkg, imp)
		}
	}
}

// allowed reports whether a list of packages contains pkg, by name or by "x/*".
func allowed(list []string, pkg string) bool {
	return slices.Contains(list, pkg) || slices.Contains(list, path.Dir(pkg)+"/*")
}

// within returns a function that reports whether imp is in a module or folder.
func within(imp string) func(string) bool {
	return func(outer string) bool { return imp == outer || strings.HasPrefix(imp, outer+"/") }
}

func checkPure(t *testing.T, pkg string, file *ast.File) {
	t.Helper()
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			t.Errorf("%s starts a goroutine, but is pure", pkg)
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && x.Name == "time" && slices.Contains(clocks, n.Sel.Name) {
				t.Errorf("%s uses time.%s, but is pure: let the caller pass the time", pkg, n.Sel.Name)
			}
		}
		return true
	})
}
