package jetstream

import (
	"strconv"
	"testing"

	"github.com/nats-io/nats.go"
)

// A batch either has a sequence or an error, for any answer.
func FuzzBatchAnswer(f *testing.F) {
	for _, data := range []string{
		`{"stream":"mess_home","seq":7,"batch":"x","count":2}`, `{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 3"}}`,
		`{"seq":-1}`, `{}`, `null`, `[]`, ``,
	} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if seq, err := batchAnswer(data); (seq == 0) != (err != nil) {
			t.Errorf("%q: sequence %d, %v", data, seq, err)
		}
	})
}

// Settings without a server name are none, for any answer.
func FuzzVarz(f *testing.F) {
	for _, data := range []string{`{"server_name":"n1","jetstream":{"config":{"sync_always":true}}}`, `{"server_name":"n1"}`, `{}`, `null`, `"x"`} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if v, err := readVarz(data); (v.Name == "") != (err != nil) || err != nil && v.JetStream.Config.SyncAlways {
			t.Errorf("%q: %+v, %v", data, v, err)
		}
	})
}

func TestVersion(t *testing.T) {
	for version, good := range map[string]bool{
		"2.15.0": true, "2.15.2": true, "2.16.0-dev": true, "3.0.0": true, "2.15": true,
		"2.14.9": false, "2.9.25": false, "1.4.1": false, "": false, "2": false, "two.15": false,
	} {
		if err := checkVersion(version); (err == nil) != good {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// A format is a positive number, for any message and any header.
func FuzzFormat(f *testing.F) {
	for _, data := range []string{`{"format":2}`, `{"format":0}`, `{"format":-1}`, `{"format":1e3}`, `{}`, `null`, `2`, ``} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if n, err := readFormatDoc(data); (n > 0) != (err == nil) {
			t.Errorf("%q: %d, %v", data, n, err)
		}
		n, err := formatOf(nats.Header{formatHeader: {string(data)}})
		if (n > 0) != (err == nil) || len(data) == 0 && n != 1 {
			t.Errorf("header %q: %d, %v", data, n, err)
		}
		if want, wrong := strconv.Atoi(string(data)); wrong == nil && want > 0 && n != want {
			t.Errorf("header %q: %d", data, n)
		}
	})
}
