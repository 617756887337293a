package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/channel/mesh"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
)

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
