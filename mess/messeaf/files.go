package messeaf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
)

// File is one file of a thread: its documents, and what it is called.
type File struct {
	Name      string // within the thread's folder
	Size      int64  // bytes
	Documents []Document
}

// maxRead bounds what is read of one file, in bytes.
const maxRead = 64 << 20

// ReadFiles reads the thread's files in order.
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

// MaxDocuments bounds the documents of a thread that an exchange does not know
// yet: a message a second for five hours. A small board reads as many in some
// seconds.
const MaxDocuments = 20_000

// TooMany is an error of type Problems if there is more in the files of a thread
// than an exchange takes in.
func (p Place) TooMany(files []File) error {
	count := 0
	for _, f := range files {
		count += len(f.Documents)
	}
	if count <= MaxDocuments {
		return nil
	}
	return Problems{{File: p.Path, Text: fmt.Sprintf("has %d documents; %d are the most that an exchange takes in", count, MaxDocuments)}}
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
