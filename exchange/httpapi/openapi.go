package httpapi

import (
	_ "embed" // the description
	"net/http"
)

// description is what this door does, in OpenAPI 3.1. A test holds it against
// the door.
//
//go:embed openapi.json
var description []byte

func (c *call) openAPI() error {
	c.body(http.StatusOK, "application/json; charset=utf-8", description)
	return nil
}
