package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/messkit/messkit/mess"
)

// writeJSON answers with JSON.
func writeJSON(w http.ResponseWriter, code int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		code, data = http.StatusInternalServerError, []byte(`{"error":"internal error of the exchange; see its log"}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write(data) // the browser has gone if it fails
}

// codes maps reasons to HTTP statuses. All others are 400.
var codes = map[mess.ErrorCode]int{
	mess.Unauthorized: http.StatusUnauthorized, mess.Forbidden: http.StatusForbidden, mess.NotFound: http.StatusNotFound,
	mess.Conflict: http.StatusConflict, mess.NotYet: http.StatusConflict, mess.Unavailable: http.StatusServiceUnavailable,
}

func writeRejection(w http.ResponseWriter, err error) {
	r, ok := errors.AsType[*mess.Error](err)
	if !ok {
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"error": "the exchange cannot do this now; try again"})
		return
	}
	writeJSON(w, cmp.Or(codes[r.Code], http.StatusBadRequest), map[string]any{"error": r.Text, "why": r.Code})
}

func (g *request) writeError(err error) {
	if _, ok := errors.AsType[*mess.Error](err); !ok && g.r.Context().Err() == nil {
		g.log.Warn("console: request failed", "path", g.r.URL.Path, "err", err)
	}
	writeRejection(g.w, err)
}
