package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/channel/mesh"
	"github.com/messkit/messkit/exchange/history"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/push"
	"github.com/messkit/messkit/exchange/spans"
	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon/store"
	"github.com/messkit/messkit/internal/otlp"
)

// MCPPath is the HTTP path of MCP.
const MCPPath = "/mcp"

// openPort opens the port of the HTTP API. Without TLS it accepts addresses of this machine
// only, unless the configuration has `insecure: true`.
func openPort(c *config.Exchange, secure *tls.Config) (net.Listener, error) {
	l, err := net.Listen("tcp", c.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, output.Hint(err, "another messkit may be running here; stop it, or choose another port with --listen")
	} else if err != nil {
		return nil, err
	}
	if secure == nil && !c.Insecure && !config.IsLocal(l.Addr()) { // a name may resolve to another address
		return nil, errors.Join(fmt.Errorf("listen: %s is %s, which is beyond this machine; write 127.0.0.1 or tls: self", c.Listen, l.Addr()), l.Close())
	}
	return l, nil
}

// openThreads opens the store, and the exchange over it. Exchanges on one store share their keys.
func openThreads(ctx context.Context, c *config.Exchange, k *keys.Keys, readings *history.Store, to *otlp.Exporter, log *slog.Logger) (store.Store, *exchange.Exchange, error) {
	settings := c.Settings()
	if to != nil {
		settings.Stepped = spans.Recorder{To: to, Now: time.Now}.Step
	}
	settings.Pin, settings.Granted, settings.StatesReported = k.Pin, k.Granted, readings.Record
	for _, d := range catalog.Default().Definitions() {
		settings.Catalog = append(settings.Catalog, exchange.Definition{ID: d.ID, Description: d.Description, Tags: d.Tags})
	}
	threads, err := store.Open(ctx, c, log)
	if err != nil {
		return nil, nil, StoreError(err, c.Data)
	}
	debug.FreeOSMemory() // reading the log has used more memory than the result needs
	x, err := exchange.Open(ctx, settings, threads, time.Now, log)
	if err != nil {
		return nil, nil, errors.Join(err, threads.Close())
	}
	if x.IsShared() {
		if err := k.Share(x, log); err != nil {
			return nil, nil, errors.Join(err, threads.Close())
		}
	}
	return threads, x, nil
}

// openPushKeys opens the keys for push services. Exchanges on one store share them.
func openPushKeys(ctx context.Context, dir string, x *exchange.Exchange) (*push.Keys, error) {
	if x.IsShared() {
		return push.OpenShared(ctx, dir, x)
	}
	return push.Open(dir)
}

// DataFolderError adds a remedy to an error of opening the data folder dir.
func DataFolderError(err error, dir string) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return output.Hint(err, "there is no space left for %s; make some, or choose a folder on another disk with --data", dir)
	case errors.Is(err, files.ErrInUse):
		return output.Hint(err, "another messkit uses %s; give this one folders of its own with --data, or with agent: data: and exchange: data:", dir)
	case errors.Is(err, fs.ErrPermission):
		return output.Hint(err, "this user must be able to read and write all of %s; mend that, or choose another folder with --data", dir)
	}
	return err
}

// StoreError adds a remedy to an error of opening the store of threads in dir.
func StoreError(err error, dir string) error {
	if files.Damaged(err) {
		return output.Hint(err, "nothing has changed; without %s messkit starts with the threads that messkit thread list --data %s shows", filepath.Join(dir, "log"), dir)
	}
	return DataFolderError(err, dir)
}

// openMESH makes the MESH channel of an exchange.
func (e *OwnExchange) openMESH(ctx context.Context, cfg *config.Exchange, secure bool, log *slog.Logger) (*mesh.Adapter, error) {
	addr := e.listener.Addr()
	if ip, ok := addr.(*net.TCPAddr); ok && ip.IP.IsUnspecified() && cfg.MESH.URL == "" {
		return nil, errors.New("exchange: mesh: url: is missing; write where peers reach this machine, like http://192.168.1.20:8420")
	}
	base := "http://" + config.Reachable(addr)
	if secure {
		base = "https://" + config.Reachable(addr)
	}
	return mesh.Open(ctx, e.x, cfg.MESH, mesh.Options{
		Dir: filepath.Join(cfg.Data, "mesh"), Base: base, Version: output.Version, YesNo: catalog.MatchYesNo, Storage: e.storage, Notice: e.hooks.Broadcast,
	}, log)
}

// addMESHPaths adds the paths of the MESH channel to the configuration of the HTTP API.
func addMESHPaths(cfg *httpapi.Config, d *mesh.Adapter) {
	cfg.MountedHandlers[mesh.ControlPath] = d
	cfg.Health = d.Health
	cfg.PublicHandlers = map[string]http.Handler{
		mesh.HooksPath: d, mesh.FilesPath: http.HandlerFunc(d.ServeFile), "/api/status": http.HandlerFunc(d.ServeStatus),
	}
}
