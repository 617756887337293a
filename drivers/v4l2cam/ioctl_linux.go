package v4l2cam

import (
	"errors"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Structures of linux/videodev2.h. The number of a request contains the size of its
// structure, by which the kernel distinguishes 32-bit programs.

// capability is struct v4l2_capability.
type capability struct {
	Driver       [16]byte
	Card         [32]byte
	Bus          [32]byte
	Version      uint32
	Capabilities uint32
	DeviceCaps   uint32
	_            [3]uint32
}

const (
	capCapture   = 0x00000001
	capStreaming = 0x04000000
	capDevice    = 0x80000000
)

// formatDescription is struct v4l2_fmtdesc.
type formatDescription struct {
	Index, Type, Flags uint32
	Description        [32]byte
	Format             uint32
	Code               uint32
	_                  [3]uint32
}

// pixFormat is struct v4l2_pix_format.
type pixFormat struct {
	Width, Height, Format, Field   uint32
	BytesPerLine, Size, Colorspace uint32
	Private, Flags, Encoding       uint32
	Quantization, TransferFunction uint32
}

// videoFormat is struct v4l2_format: its union has 200 bytes and the alignment of a
// pointer.
type videoFormat struct {
	Type uint32
	_    [0]uintptr
	Pix  pixFormat
	_    [200 - unsafe.Sizeof(pixFormat{})]byte
}

const (
	bufferCapture  = 1
	memoryMap      = 1
	fieldAny       = 0
	fullRange      = 1 // V4L2_QUANTIZATION_FULL_RANGE
	colorspaceJPEG = 7
	flagError      = 0x40
)

// requestBuffers is struct v4l2_requestbuffers.
type requestBuffers struct {
	Count, Type, Memory, Capabilities uint32
	_                                 [4]byte
}

// buffer is struct v4l2_buffer.
type buffer struct {
	Index, Type, Used, Flags, Field uint32
	Time                            unix.Timeval
	_                               [16]byte // time code
	Sequence, Memory                uint32
	Offset                          uintptr // union; the first 32 bits
	Length                          uint32
	_                               [2]uint32
}

// Directions of an ioctl (asm-generic/ioctl.h).
const (
	write = 1
	read  = 2
)

// request is one V4L2 request.
type request struct{ direction, number uintptr }

// of returns the number of the request for a structure of this size. MIPS has other
// directions (arch/mips/include/uapi/asm/ioctl.h).
func (r request) of(size uintptr) uintptr {
	if strings.HasPrefix(runtime.GOARCH, "mips") {
		return (r.direction&read|r.direction&write<<2)<<29 | size<<16 | 'V'<<8 | r.number
	}
	return r.direction<<30 | size<<16 | 'V'<<8 | r.number
}

var (
	queryCap   = request{read, 0}
	enumFormat = request{read | write, 2}
	setFormat  = request{read | write, 5}
	reqBufs    = request{read | write, 8}
	queryBuf   = request{read | write, 9}
	queueBuf   = request{read | write, 15}
	dequeueBuf = request{read | write, 17}
	streamOn   = request{write, 18}
	streamOff  = request{write, 19}
)

// control calls ioctl with a structure of the kernel.
func control[T any](fd int, r request, arg *T) error {
	for {
		_, _, err := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), r.of(unsafe.Sizeof(*arg)), uintptr(unsafe.Pointer(arg)))
		if err == 0 {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
