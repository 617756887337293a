package httpapi

import (
	"compress/gzip"
	_ "embed" // the description
	"io"
	"net/http"
	"strings"
)

// description describes this API in OpenAPI 3.1: openapi.json, compressed by gzip -9nkf. Tests
// compare the two, and the description with the server.
//
//go:embed openapi.json.gz
var description string

func (c *call) openAPI() error {
	r, err := gzip.NewReader(strings.NewReader(description))
	if err != nil {
		return err
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	c.writeBody(http.StatusOK, "application/json; charset=utf-8", data)
	return nil
}
