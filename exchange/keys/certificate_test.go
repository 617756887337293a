package keys_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/keys"
)

func TestCertificateIsMadeOnce(t *testing.T) {
	dir := t.TempDir()
	if _, err := keys.OwnCertificate(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before: %v", err)
	}
	first, err := keys.Certificate(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := keys.Certificate(dir)
	if err != nil || !bytes.Equal(first.Certificate[0], second.Certificate[0]) {
		t.Errorf("a second one was made: %v", err)
	}
	name := filepath.Join(dir, keys.CertificateFile)
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Certificate(dir); err == nil || !strings.Contains(err.Error(), "tls.pem") {
		t.Errorf("a damaged one: %v", err)
	}
	if data, _ := os.ReadFile(name); string(data) != "x" {
		t.Error("the damaged one was replaced")
	}
}
