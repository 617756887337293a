package mdns

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
)

// Types and the class of records (RFC 1035 §3.2, RFC 2782, RFC 3596).
const (
	typeA    = 1
	typePTR  = 12
	typeTXT  = 16
	typeAAAA = 28
	typeSRV  = 33
	classIN  = 1

	askUnicast = 0x8000 // of a question's class (RFC 6762 §5.4)
)

// What a message may have.
const (
	headerSize = 12
	maxName    = 255
	maxJumps   = 16  // of compression in one name
	maxRecords = 512 // in one message
)

// record is one of the records that are read.
type record struct {
	name   string // without the dot at the end
	kind   uint16
	target string            // of PTR and SRV
	port   uint16            // of SRV
	addr   netip.Addr        // of A and AAAA
	texts  map[string]string // of TXT, keys in small letters (RFC 6763 §6)
}

// question asks for instances of services, answered to whoever asks.
func question(services []string) []byte {
	b := make([]byte, headerSize)
	binary.BigEndian.PutUint16(b[4:], uint16(len(services)))
	for _, s := range services {
		for _, label := range strings.Split(s+".local", ".") {
			b = append(b, byte(len(label)))
			b = append(b, label...)
		}
		b = append(b, 0)
		b = binary.BigEndian.AppendUint16(b, typePTR)
		b = binary.BigEndian.AppendUint16(b, classIN|askUnicast)
	}
	return b
}

var errCut = errors.New("mdns: a message that is cut off or wrong")

// reader reads a message from the front.
type reader struct {
	whole []byte
	at    int
}

func (r *reader) uint16() (uint16, error) {
	if r.at+2 > len(r.whole) {
		return 0, errCut
	}
	v := binary.BigEndian.Uint16(r.whole[r.at:])
	r.at += 2
	return v, nil
}

func (r *reader) skip(n int) error {
	if n < 0 || r.at+n > len(r.whole) {
		return errCut
	}
	r.at += n
	return nil
}

// name reads a name, which may go on elsewhere in the message (RFC 1035 §4.1.4).
func (r *reader) name() (string, error) {
	var labels []string
	at, after, length := r.at, -1, 0
	for jumps := 0; ; {
		if at >= len(r.whole) {
			return "", errCut
		}
		n := int(r.whole[at])
		switch {
		case n == 0:
			if after < 0 {
				after = at + 1
			}
			r.at = after
			return strings.Join(labels, "."), nil
		case n&0xc0 == 0xc0:
			if jumps++; jumps > maxJumps || at+1 >= len(r.whole) {
				return "", errCut
			}
			if after < 0 {
				after = at + 2
			}
			at = n&0x3f<<8 | int(r.whole[at+1])
		case n&0xc0 != 0 || at+1+n > len(r.whole) || length+n+1 > maxName:
			return "", errCut
		default:
			labels = append(labels, string(r.whole[at+1:at+1+n]))
			length += n + 1
			at += 1 + n
		}
	}
}

// parse reads the records of an answer that are of the types above. An error
// means none.
func parse(data []byte) ([]record, error) {
	if len(data) < headerSize || data[2]&0x80 == 0 {
		return nil, errCut // or a question
	}
	r := reader{whole: data, at: headerSize}
	count := func(i int) int { return int(binary.BigEndian.Uint16(data[i:])) }
	for range count(4) {
		if _, err := r.name(); err != nil {
			return nil, err
		}
		if err := r.skip(4); err != nil {
			return nil, err
		}
	}
	total := count(6) + count(8) + count(10)
	if total > maxRecords {
		return nil, errCut
	}
	var list []record
	for range total {
		one, err := r.record()
		if err != nil {
			return nil, err
		}
		if one.kind != 0 {
			list = append(list, one)
		}
	}
	return list, nil
}

// record reads one; its kind is 0 where nobody wants it.
func (r *reader) record() (record, error) {
	name, err := r.name()
	if err != nil {
		return record{}, err
	}
	kind, err := r.uint16()
	if err == nil {
		err = r.skip(6) // class and how long it holds
	}
	if err != nil {
		return record{}, err
	}
	size, err := r.uint16()
	if err != nil || r.at+int(size) > len(r.whole) {
		return record{}, errCut
	}
	end := r.at + int(size)
	one := record{name: name, kind: kind}
	if err := r.data(&one, end); err != nil {
		return record{}, err
	}
	r.at = end
	return one, nil
}

func (r *reader) data(one *record, end int) (err error) {
	body := r.whole[r.at:end]
	switch one.kind {
	case typeA, typeAAAA:
		addr, ok := netip.AddrFromSlice(body)
		if !ok || addr.Is4() != (one.kind == typeA) {
			return errCut
		}
		one.addr = addr
	case typePTR:
		one.target, err = r.name()
	case typeSRV:
		if len(body) < 7 {
			return errCut
		}
		one.port = binary.BigEndian.Uint16(body[4:])
		r.at += 6
		one.target, err = r.name()
	case typeTXT:
		one.texts = texts(body)
	default:
		one.kind = 0
	}
	return err
}

// texts are the key=value of a TXT record; what is no such is passed over.
func texts(body []byte) map[string]string {
	m := map[string]string{}
	for len(body) > 0 {
		n := min(int(body[0]), len(body)-1)
		key, value, ok := strings.Cut(string(body[1:1+n]), "=")
		if _, twice := m[strings.ToLower(key)]; ok && !twice { // RFC 6763 §6.4: the first counts
			m[strings.ToLower(key)] = value
		}
		body = body[1+n:]
	}
	return m
}
