package daemon

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/messkit/messkit/exchange/store/files/external"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon/store"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// importer returns the Importer of an exchange, or one that refuses all threads.
func importer(c *config.Exchange) func(ref string, list map[string][]byte) error {
	if c.NATS != nil {
		return func(string, map[string][]byte) error { return mess.Errorf(mess.Unavailable, "%v", store.ErrNoImport) }
	}
	return Importer(c.Data)
}

// Importer writes threads from the HTTP API into the data folder, from which the exchange
// imports them.
func Importer(dir string) func(ref string, list map[string][]byte) error {
	return func(ref string, list map[string][]byte) error {
		fsys, err := archived(ref, list)
		if err != nil {
			return err
		}
		places, err := messeaf.List(fsys)
		if err != nil || len(places) != 1 {
			return errors.Join(err, mess.Errorf(mess.Invalid, "%s: the files are not those of one thread", ref))
		}
		if _, err := places[0].Read(fsys); err != nil {
			return mess.Errorf(mess.Invalid, "%s: %v", ref, err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		defer root.Close()
		_, err = external.Import(root, fsys, places[0])
		if errors.Is(err, fs.ErrExist) {
			return mess.Errorf(mess.Conflict, "%s: a thread of that name exists; nothing has changed", ref)
		}
		if p, ok := errors.AsType[messeaf.Problems](err); ok {
			return mess.Errorf(mess.Invalid, "%s: %v", ref, p)
		}
		return err
	}
}

// archived returns files as a file system, under the names that they have in the archive of a
// thread.
func archived(ref string, list map[string][]byte) (fs.FS, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range output.SortedKeys(list) {
		at := path.Join("threads", ref, name)
		if len(list) == 1 && name == ref+messeaf.Ext {
			at = path.Join("threads", name)
		}
		w, err := z.Create(at)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(list[name]); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return messeaf.OpenArchive(bytes.NewReader(b.Bytes()), int64(b.Len()))
}

var sizeForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?(?i:(KB|K|MB|M|B)?)$`)

// ParseSize reads a number of bytes such as 500KB, where K and M are powers of 1024. The result is
// between picture.MinBytes and picture.MaxBytes.
func ParseSize(s string) (int, error) {
	m := sizeForm.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0, fmt.Errorf("%q is no number of bytes; write it like 500KB", s)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, err
	}
	switch strings.ToUpper(m[2]) {
	case "K", "KB":
		n *= 1 << 10
	case "M", "MB":
		n *= 1 << 20
	}
	if n < picture.MinBytes || n > picture.MaxBytes {
		return 0, fmt.Errorf("%s is out of bounds; allow %d to %d bytes", s, picture.MinBytes, picture.MaxBytes)
	}
	return int(math.Floor(n)), nil
}

// fittedAtOnce is the number of images that the exchange scales at the same time: decoding
// one of 24 megapixels takes 60 MB.
const fittedAtOnce = 2

// imageFitter returns the function that scales an image to the size that a client asks for.
func imageFitter() func(context.Context, []byte, string) ([]byte, string, error) {
	busy := make(chan struct{}, fittedAtOnce)
	return func(ctx context.Context, data []byte, size string) ([]byte, string, error) {
		most, err := ParseSize(size)
		if err != nil {
			return nil, "", err
		}
		select {
		case busy <- struct{}{}:
			defer func() { <-busy }()
		case <-ctx.Done():
			return nil, "", ctx.Err()
		}
		p, err := picture.Fit(ctx, data, picture.Limits{MaxBytes: most})
		return p.Data, p.MIME, err
	}
}
