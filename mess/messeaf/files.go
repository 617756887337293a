package messeaf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
)

// File is one file of a thread: its name and its documents.
type File struct {
	Name      string // name in the folder of the thread
	Size      int64  // bytes
	Documents []Document
}

// maxRead is the size limit for one file in bytes.
const maxRead = 64 << 20

// ReadFiles reads the files of the thread in order.
func (p Place) ReadFiles(fsys fs.FS) ([]File, error) {
	own, _, err := p.Files(fsys)
	if err != nil {
		return nil, err
	}
	if len(own) == 0 {
		if odd, err := p.irregular(fsys); err != nil || odd != nil {
			return nil, errors.Join(err, odd.Err())
		}
		return nil, Problems{{File: p.Path, Text: fmt.Sprintf("has no file %s; the envelope is missing", FileName(0, p.Ref))}}
	}
	files := make([]File, len(own))
	for i, name := range own {
		data, err := readFile(fsys, path.Join(p.Dir(), name))
		if err != nil {
			return nil, err
		}
		files[i] = File{Name: name, Size: int64(len(data)), Documents: Split(data)}
	}
	return files, nil
}

// MaxDocuments is the limit for the documents of an unknown thread: a message per second
// for five hours. A small computer reads as many in some seconds.
const MaxDocuments = 20_000

// TooMany returns an error of type Problems if the files of a thread exceed the limits of
// an exchange.
func (p Place) TooMany(files []File) error {
	count := 0
	for _, f := range files {
		count += len(f.Documents)
	}
	if count <= MaxDocuments {
		return nil
	}
	return Problems{{File: p.Path, Text: fmt.Sprintf("has %d documents; the limit of an exchange is %d", count, MaxDocuments)}}
}

func readFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := open(fsys, name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxRead+1))
	if err == nil && len(data) > maxRead {
		err = Problems{{File: name, Text: fmt.Sprintf("is larger than %d bytes; this is no thread's file", maxRead)}}
	}
	return data, errors.Join(err, f.Close())
}
