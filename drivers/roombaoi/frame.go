package roombaoi

import (
	"encoding/binary"
	"errors"
)

// Opcodes and packets of the Open Interface (iRobot Create 2 Open Interface
// Specification, "Roomba Open Interface Commands" and "Sensor Packets").
const (
	opStart  = 128 // starts the interface in passive mode
	opSafe   = 131 // safe mode: this program has control, and the present task ends
	opSpot   = 134
	opClean  = 135
	opDock   = 143
	opStream = 148 // stream of packets every 15 ms, with a checksum
	opPause  = 150 // argument 0 pauses the stream

	streamHeader = 19
)

// packet is one sensor packet.
type packet struct {
	id   byte
	size int
}

// packets lists the packets of the stream, in order.
var packets = []packet{
	{7, 1},  // bumps and wheel drops
	{9, 1},  // cliffs: left, front left, front right, right
	{10, 1}, //
	{11, 1}, //
	{12, 1}, //
	{14, 1}, // overcurrents
	{21, 1}, // charging state
	{25, 2}, // charge, mAh
	{26, 2}, // capacity, mAh
	{34, 1}, // charging sources
	{35, 1}, // mode
	{43, 2}, // encoder of the left wheel
	{44, 2}, // encoder of the right wheel
}

// state contains the values of the sensors.
type state struct {
	wheelDrop   bool
	cliffs      int  // number of the four cliff sensors
	overcurrent byte // bits as in packet 14
	fault       bool // charging fault
	charging    bool
	docked      bool
	battery     float64 // %; -1 if unknown
	mode        byte
	left, right uint16 // encoders
}

// payload returns the number of bytes in a frame.
func payload() int {
	n := 0
	for _, p := range packets {
		n += 1 + p.size
	}
	return n
}

// subscribe returns the command for a stream of all packets.
func subscribe() []byte {
	b := []byte{opStream, byte(len(packets))}
	for _, p := range packets {
		b = append(b, p.id)
	}
	return b
}

// errShort reports an incomplete frame.
var errShort = errors.New("incomplete frame")

// find searches data for a complete frame with a right checksum. It ignores everything
// else: partial frames, noise, the text that the robot prints when it wakes up.
func find(data []byte) (state, error) {
	n := payload()
	for i := 0; i+n+3 <= len(data); i++ {
		if data[i] != streamHeader || int(data[i+1]) != n {
			continue
		}
		sum := byte(0)
		for _, b := range data[i : i+n+3] {
			sum += b
		}
		if sum != 0 {
			continue
		}
		if s, ok := parse(data[i+2 : i+2+n]); ok {
			return s, nil
		}
	}
	return state{}, errShort
}

// parse decodes the packets of a frame.
func parse(data []byte) (s state, ok bool) {
	s.battery = -1
	var charge, capacity uint16
	for _, p := range packets {
		if len(data) < 1+p.size || data[0] != p.id {
			return state{}, false
		}
		one := data[1]
		word := uint16(one)
		if p.size == 2 {
			word = binary.BigEndian.Uint16(data[1:])
		}
		switch p.id {
		case 7:
			s.wheelDrop = one&0b1100 != 0
		case 9, 10, 11, 12:
			s.cliffs += int(one & 1)
		case 14:
			s.overcurrent = one
		case 21:
			s.fault, s.charging = one == 5, one >= 1 && one <= 3
		case 25:
			charge = word
		case 26:
			capacity = word
		case 34:
			s.docked = one&0b10 != 0
		case 35:
			s.mode = one
		case 43:
			s.left = word
		case 44:
			s.right = word
		}
		data = data[1+p.size:]
	}
	if capacity > 0 && charge <= capacity {
		s.battery = 100 * float64(charge) / float64(capacity)
	}
	return s, true
}

// moved reports whether the wheels have turned between two readings.
func (s state) moved(was state) bool { return s.left != was.left || s.right != was.right }
