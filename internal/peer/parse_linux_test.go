package peer

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 11 1
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 12 1
   2: 0100007F:C351 0100007F:1F90 04 00000000:00000000 00:00000000 00000000     0        0 0 1
   3: 0100007F:C352 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 0 1
`

func TestPeerIsRead(t *testing.T) {
	if !littleEndian {
		t.Skip("the table is of a machine with the other order of bytes")
	}
	server := netip.MustParseAddrPort("127.0.0.1:8080")
	for port, want := range map[uint16]int{50000: 1000, 50001: -1, 50002: -1, 50003: -1} {
		s, err := findIn(strings.NewReader(table), netip.AddrPortFrom(server.Addr(), port), server)
		if want < 0 && err == nil || want >= 0 && (err != nil || s.uid != want) {
			t.Errorf("port %d: %+v %v", port, s, err)
		}
	}
	if a, ok := address("0000000000000000FFFF00000100007F:0050"); !ok || a.String() != "127.0.0.1:80" {
		t.Errorf("IPv4 within IPv6: %v", a)
	}
}

func TestTerminalControlsForeground(t *testing.T) {
	for stat, want := range map[string]uint64{
		"7 (a) S 1 7 7 34819 7 0":       34819,
		"7 (a ) S (b) S 1 7 7 1025 7 0": 1025,
		"7 (a) S 1 7 7 0 -1 0":          0,
		"7 (a) S 1 7 7 34819 9 0":       0,
		"7 (a) S 1 7":                   0,
		"":                              0,
	} {
		if got, err := controlling(stat); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %d %v", stat, got, err)
		}
	}
}

func FuzzTables(f *testing.F) {
	f.Add(table, "7 (a) S 1 7 7 34819 7 0")
	f.Fuzz(func(t *testing.T, table, stat string) {
		server := netip.MustParseAddrPort("127.0.0.1:8080")
		if s, err := findIn(strings.NewReader(table), netip.AddrPortFrom(server.Addr(), 50000), server); err == nil && s.inode == 0 {
			t.Errorf("%+v", s)
		}
		if tty, err := controlling(stat); err == nil && tty == 0 {
			t.Error("no terminal")
		}
	})
}

// A table that the system does not give is no proof that a process is a stranger.
func TestFailedReadIsNoForeignProcess(t *testing.T) {
	old := tables
	defer func() { tables = old }()
	tables = []string{t.TempDir()} // a folder opens, and reading it fails
	if same, err := Same("127.0.0.1:80", "127.0.0.1:4000"); same || err == nil || errors.Is(err, ErrUnknown) {
		t.Errorf("%v %v", same, err)
	}
	tables = []string{t.TempDir() + "/none"}
	if same, err := Same("127.0.0.1:80", "127.0.0.1:4000"); same || err != nil {
		t.Errorf("%v %v", same, err)
	}
}
