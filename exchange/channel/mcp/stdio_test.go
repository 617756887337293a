package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/channel/mcp"
)

// Every request gets its response, even if the input ends before the first one.
func TestAllRequestsAreAnsweredAtEnd(t *testing.T) {
	h := newHarness(t)
	in := &strings.Builder{}
	in.WriteString(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n")
	in.WriteString(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	const most = 40
	for id := 1; id < most; id++ {
		switch id % 3 {
		case 0:
			fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", id)
		case 1:
			fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"mess_capabilities","arguments":{}}}`+"\n", id)
		case 2:
			fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"no/such"}`+"\n", id)
		}
	}
	fmt.Fprintf(in, `{"jsonrpc":"2.0","id":"last","method":"ping"}`) // without an end of the line
	var out bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		s := mcp.New(mcp.LocalExchange(h.x, model), "1.2.3", slog.New(slog.DiscardHandler))
		ended <- s.Serve(context.Background(), io.NopCloser(strings.NewReader(in.String())), nopCloser{&out})
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the server does not end")
	}
	got := map[string]int{}
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		var m struct {
			ID     any    `json:"id"`
			Method string `json:"method"`
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if m.Method == "" {
			got[fmt.Sprint(m.ID)]++
		}
	}
	for id := range most {
		if got[fmt.Sprint(id)] != 1 {
			t.Errorf("%d was answered %d times", id, got[fmt.Sprint(id)])
		}
	}
	if got["last"] != 1 {
		t.Errorf("the last was answered %d times", got["last"])
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
