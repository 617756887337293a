package discovery

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

	askUnicast = 0x8000 // flag in the class of a question (RFC 6762 §5.4)
)

// Limits for a message.
const (
	headerSize = 12
	maxName    = 255
	maxJumps   = 16  // compression pointers in one name
	maxRecords = 512 // records in one message
)

// record is one decoded record.
type record struct {
	name   string // without the final dot
	kind   uint16
	target string            // of PTR and SRV
	port   uint16            // of SRV
	addr   netip.Addr        // of A and AAAA
	texts  map[string]string // fields of TXT, keys in lower case (RFC 6763 §6)
}

// question encodes a question for instances of services, with unicast answers.
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

var errCut = errors.New("mdns: truncated or invalid message")

// reader decodes a message from its start.
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

// name decodes a name, which may continue elsewhere in the message (RFC 1035 §4.1.4).
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

// parse decodes the records of an answer that have one of the types above. It returns no
// records with an error.
func parse(data []byte) ([]record, error) {
	if len(data) < headerSize || data[2]&0x80 == 0 {
		return nil, errCut // too short, or a question
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

// record decodes one record; its kind is 0 for any other type.
func (r *reader) record() (record, error) {
	name, err := r.name()
	if err != nil {
		return record{}, err
	}
	kind, err := r.uint16()
	if err == nil {
		err = r.skip(6) // class and time to live
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

// texts decodes the key=value pairs of a TXT record, and ignores other texts.
func texts(body []byte) map[string]string {
	m := map[string]string{}
	for len(body) > 0 {
		n := min(int(body[0]), len(body)-1)
		key, value, ok := strings.Cut(string(body[1:1+n]), "=")
		if _, twice := m[strings.ToLower(key)]; ok && !twice { // the first value counts (RFC 6763 §6.4)
			m[strings.ToLower(key)] = value
		}
		body = body[1+n:]
	}
	return m
}
