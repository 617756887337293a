package daemon

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/mess/receipt"
)

// SignerFile is the file in an executor's data folder with the secret seed of its receipt
// key, in base64.
const SignerFile = "receipt.key"

// Signer reads the receipt key in the executor's data folder dir, and makes one if there is
// none. If it cannot write one, it returns no signer and no error: the executor works without
// receipts.
func Signer(dir string, log *slog.Logger) (*receipt.Signer, error) {
	s, err := ReadSigner(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Stat(filepath.Join(dir, SignerFile)); err == nil && info.Mode().Perm()&0o077 != 0 {
			log.Warn("other users can read the key of the receipts; run chmod 600 on it", "key_file", filepath.Join(dir, SignerFile))
		}
		return s, err
	}
	seed := make([]byte, receipt.SeedSize)
	if _, err := rand.Read(seed); err != nil {
		return nil, err
	}
	if err := durable.Replace(filepath.Join(dir, SignerFile), []byte(base64.StdEncoding.EncodeToString(seed)+"\n")); err != nil {
		log.Error("no signed receipts: the folder for the key is not writable", "err", err)
		return nil, nil
	}
	return ReadSigner(dir)
}

// ReadSigner reads the receipt key in the executor's data folder. The error is fs.ErrNotExist if
// there is none.
func ReadSigner(dir string) (*receipt.Signer, error) {
	name := filepath.Join(dir, SignerFile)
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(data)))
	if err != nil {
		err = errors.New("is not base64") // without the content
	}
	var s *receipt.Signer
	if err == nil {
		s, err = receipt.NewSigner(seed)
	}
	if err != nil {
		return nil, output.Hint(fmt.Errorf("%s: %w", name, err), "restore it from a copy, or remove it; with a new key its receipts count again when %s at the exchange names that", keys.PinsFile)
	}
	return s, nil
}
