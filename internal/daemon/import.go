package daemon

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

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
		_, err = files.Import(root, fsys, places[0])
		if errors.Is(err, fs.ErrExist) {
			return mess.Errorf(mess.Conflict, "%s: a thread of that name exists; nothing has changed", ref)
		}
		if p, ok := errors.AsType[messeaf.Problems](err); ok {
			return mess.Errorf(mess.Invalid, "%s: %v", ref, p)
		}
		return err
	}
}

// archived returns files under the names that the archive of a thread has.
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
