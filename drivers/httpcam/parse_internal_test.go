package httpcam

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"testing"
)

func seeds(tb testing.TB) (j, p []byte) {
	tb.Helper()
	img := image.NewGray(image.Rect(0, 0, 8, 8))
	var a, b bytes.Buffer
	if err := errors.Join(jpeg.Encode(&a, img, nil), png.Encode(&b, img)); err != nil {
		tb.Fatal(err)
	}
	return a.Bytes(), b.Bytes()
}

const fuzzLimit = 4 << 10

// checkWhole checks that an image respects the limit, and that readPicture returns the same
// image for it again.
func checkWhole(t *testing.T, p picture) {
	t.Helper()
	if len(p.data) > fuzzLimit {
		t.Errorf("%d bytes", len(p.data))
	}
	again, err := readPicture(bufio.NewReader(bytes.NewReader(p.data)), fuzzLimit)
	if err != nil || !bytes.Equal(again.data, p.data) || again.mime != p.mime {
		t.Errorf("read again: %d of %d bytes, %v", len(again.data), len(p.data), err)
	}
}

func FuzzPicture(f *testing.F) {
	j, p := seeds(f)
	for _, data := range [][]byte{j, p, append(bytes.Clone(j), 0, 0), j[:len(j)-2], p[:40], []byte("\xff\xd8\xff\xda\x00\x02\xff\xff\xd9"), nil} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		got, err := readPicture(bufio.NewReader(r), fuzzLimit)
		if err != nil {
			if got.data != nil || got.mime != "" {
				t.Errorf("%+v beside %v", got, err)
			}
			return
		}
		if !bytes.HasPrefix(data, got.data) {
			t.Error("the picture is not what the data begins with")
		}
		checkWhole(t, got)
	})
}

func FuzzFrames(f *testing.F) {
	j, p := seeds(f)
	part := func(head string, data []byte) string { return "--b\r\n" + head + "\r\n\r\n" + string(data) + "\r\n" }
	length := fmt.Sprintf("Content-Length: %d", len(j))
	for _, kind := range []string{"multipart/x-mixed-replace; boundary=b", "", `multipart/x; BOUNDARY="--b"; x`} {
		f.Add(kind, []byte(part(length, j)+part("", p)+part("Content-Length: 3", j)+"--b--"))
		f.Add(kind, []byte(part("X: y", j[:30])+part(length, j)))
		f.Add(kind, []byte("--\r\n\r\n"+string(j)+"--\r\n\r\n"+string(j)))
	}
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		fr := newFrames(bufio.NewReaderSize(bytes.NewReader(data), lineBytes), kind, fuzzLimit)
		for n := 0; ; n++ {
			if n > len(data) {
				t.Fatal("more frames than bytes")
			}
			got, h, err := fr.next()
			if _, again := errors.AsType[*brokenError](err); err != nil && (got.data != nil || h != part0) {
				t.Errorf("%+v %+v beside %v", got, h, err)
			} else if err != nil && !again {
				return
			}
			if err == nil {
				checkWhole(t, got)
			}
		}
	})
}

var part0 part
