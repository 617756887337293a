package httpapi_test

import (
	"testing"

	"github.com/messkit/messkit/exchange/httpapi"
)

func TestEnrolmentCode(t *testing.T) {
	h := open(t, httpapi.Config{Enrol: "abc-123"})
	r := h.do("POST", root+"/register", "", `{"executor_id":"a","enrol":"abc-123"}`, "Origin", "https://elsewhere.example")
	h.want(r, 201, "")
	r = h.do("POST", root+"/register", "", `{"executor_id":"b","enrol":"abc-124"}`, "Origin", "https://elsewhere.example")
	h.want(r, 403, "")
}
