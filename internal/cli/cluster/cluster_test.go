package cluster_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/cli/cluster"
)

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		nodes  int
		listen string
		fault  string // part of the error; "" for none
	}{
		{3, "127.0.0.1:8420", ""},
		{5, "[::1]:0", ""},
		{2, "127.0.0.1:8420", "write 3 or 5"},
		{3, "8420", "write it like 127.0.0.1:8420"},
		{3, "0.0.0.0:8420", "write 127.0.0.1"},
		{3, "localhost:8420", "write 127.0.0.1"},
		{3, "127.0.0.1:65534", "has no room for 3 exchanges"},
		{3, "127.0.0.1:http", "has no room"},
	} {
		err := cluster.Config{Nodes: test.nodes, Listen: test.listen}.Validate()
		if test.fault == "" && err != nil || test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)) {
			t.Errorf("%d nodes at %s: %v, and not %q", test.nodes, test.listen, err, test.fault)
		}
	}
}
