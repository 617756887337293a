package v4l2cam

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// buffers is the number of buffers, enough to fill one while the driver reads another.
const buffers = 4

// stream is an open camera stream.
type stream struct {
	fd      int
	what    string
	picture Picture
	memory  [][]byte
	queued  bool
	frame   []byte
}

func (s *stream) Picture() Picture { return s.picture }

// begin sets the format and starts the stream.
func (s *stream) begin(cfg Config) error {
	if err := s.setFormat(cfg); err != nil {
		return err
	}
	if err := s.mapBuffers(); err != nil {
		return err
	}
	on := uint32(bufferCapture)
	if err := control(s.fd, streamOn, &on); err != nil {
		return fmt.Errorf("cannot stream: %w; connect the camera directly, not through a hub", err)
	}
	s.queued = true
	return nil
}

// setFormat requests the preferred format of those that the camera supports.
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
			return errors.New("another program uses the camera; stop it, or ask again later")
		}
		if err != nil || v.Pix.Format != f.fourcc {
			continue
		}
		return s.accept(f, v.Pix)
	}
	return fmt.Errorf("the camera does not support %s, only %s", cfg.wants(), names(has))
}

func (c Config) wants() string {
	if c.Format == Auto {
		return "mjpeg, yuyv or nv12"
	}
	return c.Format
}

// accept checks the format that the driver has selected.
func (s *stream) accept(f format, p pixFormat) error {
	s.picture = Picture{Format: f.name, Width: int(p.Width), Height: int(p.Height), Stride: int(p.BytesPerLine)}
	least := s.picture.Width
	if f.name == "yuyv" {
		least *= 2
	}
	s.picture.Stride = max(s.picture.Stride, least)
	s.picture.Full = p.Quantization == fullRange || p.Quantization == 0 && p.Colorspace == colorspaceJPEG
	if s.picture.Width < 1 || s.picture.Height < 1 || s.picture.Width*s.picture.Height > maxPixels {
		return fmt.Errorf("the camera selects the size %d x %d", s.picture.Width, s.picture.Height)
	}
	return nil
}

// has returns the formats of the camera.
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

// mapBuffers requests buffers, and passes them to the driver.
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
		return errors.New("the camera has no buffers")
	}
	return nil
}

// look is the interval of checks for the end of ctx.
const look = 50 * time.Millisecond

// Frame waits for a frame and copies it, so that the driver gets the buffer back at once.
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
			return nil, fmt.Errorf("%s: %w; check that the camera is connected", s.what, err)
		}
	}
}

// dequeue takes a buffer, copies its frame, and returns the buffer. It returns nil for a
// damaged frame.
func (s *stream) dequeue() ([]byte, error) {
	b := buffer{Type: bufferCapture, Memory: memoryMap}
	if err := control(s.fd, dequeueBuf, &b); err != nil {
		return nil, err
	}
	if int(b.Index) >= len(s.memory) {
		return nil, fmt.Errorf("no buffer %d", b.Index)
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

// Close stops the stream and closes the camera. It ignores the errors of a disconnected
// camera.
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
