package v4l2cam

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// buffers are as many as a driver needs to fill one while another is read.
const buffers = 4

// stream is a camera that streams.
type stream struct {
	fd      int
	what    string
	picture Picture
	memory  [][]byte
	queued  bool
	frame   []byte
}

func (s *stream) Picture() Picture { return s.picture }

// begin sets the format and starts.
func (s *stream) begin(cfg Config) error {
	if err := s.setFormat(cfg); err != nil {
		return err
	}
	if err := s.mapBuffers(); err != nil {
		return err
	}
	on := uint32(bufferCapture)
	if err := control(s.fd, streamOn, &on); err != nil {
		return fmt.Errorf("cannot stream: %w; on a hub give it a port of its own", err)
	}
	s.queued = true
	return nil
}

// setFormat asks for what is liked best of what the camera has.
func (s *stream) setFormat(cfg Config) error {
	has := s.has()
	for _, f := range formats {
		if cfg.Format != Auto && cfg.Format != f.name || !has[f.fourcc] {
			continue
		}
		var v videoFormat
		v.Type = bufferCapture
		v.Pix = pixFormat{Width: uint32(cfg.Width), Height: uint32(cfg.Height), Format: f.fourcc, Field: fieldAny}
		err := control(s.fd, setFormat, &v)
		if errors.Is(err, unix.EBUSY) {
			return errors.New("another program is using it; end that, or ask again later")
		}
		if err != nil || v.Pix.Format != f.fourcc {
			continue
		}
		return s.accept(f, v.Pix)
	}
	return fmt.Errorf("it has no %s; it has %s", cfg.wants(), names(has))
}

func (c Config) wants() string {
	if c.Format == Auto {
		return "mjpeg, yuyv or nv12"
	}
	return c.Format
}

// accept takes what the driver has made of the wish.
func (s *stream) accept(f format, p pixFormat) error {
	s.picture = Picture{Format: f.name, Width: int(p.Width), Height: int(p.Height), Stride: int(p.BytesPerLine)}
	least := s.picture.Width
	if f.name == "yuyv" {
		least *= 2
	}
	s.picture.Stride = max(s.picture.Stride, least)
	s.picture.Full = p.Quantization == fullRange || p.Quantization == 0 && p.Colorspace == colorspaceJPEG
	if s.picture.Width < 1 || s.picture.Height < 1 || s.picture.Width*s.picture.Height > maxPixels {
		return fmt.Errorf("its pictures have %d x %d pixels", s.picture.Width, s.picture.Height)
	}
	return nil
}

// has are the formats that the camera has.
func (s *stream) has() map[uint32]bool {
	all := map[uint32]bool{}
	for i := range uint32(256) {
		d := formatDescription{Index: i, Type: bufferCapture}
		if control(s.fd, enumFormat, &d) != nil {
			break
		}
		all[d.Format] = true
	}
	return all
}

func names(has map[uint32]bool) string {
	var list []string
	for f := range has {
		list = append(list, string([]byte{byte(f), byte(f >> 8), byte(f >> 16), byte(f >> 24)}))
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// mapBuffers has the driver make buffers, and hands them to it.
func (s *stream) mapBuffers() error {
	r := requestBuffers{Count: buffers, Type: bufferCapture, Memory: memoryMap}
	if err := control(s.fd, reqBufs, &r); err != nil {
		return fmt.Errorf("no buffers: %w", err)
	}
	for i := range r.Count {
		b := buffer{Index: i, Type: bufferCapture, Memory: memoryMap}
		if err := control(s.fd, queryBuf, &b); err != nil {
			return fmt.Errorf("buffer %d: %w", i, err)
		}
		m, err := unix.Mmap(s.fd, int64(uint32(b.Offset)), int(b.Length), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return fmt.Errorf("buffer %d: %w", i, err)
		}
		s.memory = append(s.memory, m)
		if err := control(s.fd, queueBuf, &b); err != nil {
			return fmt.Errorf("buffer %d: %w", i, err)
		}
	}
	if len(s.memory) == 0 {
		return errors.New("it has no buffers")
	}
	return nil
}

// look is how often it is seen whether ctx has ended.
const look = 50 * time.Millisecond

// Frame waits for a frame and copies it: the buffer is the driver's again at once.
func (s *stream) Frame(ctx context.Context) ([]byte, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(look/time.Millisecond))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return nil, fmt.Errorf("%s: %w", s.what, err)
		}
		if n <= 0 {
			continue
		}
		frame, err := s.dequeue()
		if err == nil && frame != nil {
			return frame, nil
		}
		if err != nil && !errors.Is(err, unix.EAGAIN) {
			return nil, fmt.Errorf("%s: %w; was it unplugged?", s.what, err)
		}
	}
}

// dequeue takes a buffer and gives it back; nil where its frame was damaged.
func (s *stream) dequeue() ([]byte, error) {
	b := buffer{Type: bufferCapture, Memory: memoryMap}
	if err := control(s.fd, dequeueBuf, &b); err != nil {
		return nil, err
	}
	if int(b.Index) >= len(s.memory) {
		return nil, fmt.Errorf("there is no buffer %d", b.Index)
	}
	damaged := b.Flags&flagError != 0
	if !damaged {
		s.frame = append(s.frame[:0], s.memory[b.Index][:min(int(b.Used), len(s.memory[b.Index]))]...)
	}
	if err := control(s.fd, queueBuf, &b); err != nil {
		return nil, err
	}
	if damaged {
		return nil, nil
	}
	return s.frame, nil
}

// Close stops and closes. What fails for a camera that was unplugged is no error.
func (s *stream) Close() error {
	if s.queued {
		off := uint32(bufferCapture)
		_ = control(s.fd, streamOff, &off)
	}
	var errs []error
	for _, m := range s.memory {
		errs = append(errs, unix.Munmap(m))
	}
	return errors.Join(append(errs, unix.Close(s.fd))...)
}
