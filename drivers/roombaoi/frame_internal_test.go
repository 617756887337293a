package roombaoi

import "testing"

// find accepts a frame only with its checksum, at any position.
func FuzzFind(f *testing.F) {
	frame := func(wheels byte) []byte {
		p := []byte{19, byte(payload())}
		for _, one := range packets {
			p = append(p, one.id)
			for range one.size {
				p = append(p, wheels)
			}
		}
		sum := byte(0)
		for _, b := range p {
			sum += b
		}
		return append(p, -sum)
	}
	f.Add([]byte("noise"), byte(0))
	f.Add([]byte{19, byte(payload()), 7}, byte(3))
	f.Fuzz(func(t *testing.T, noise []byte, wheels byte) {
		if s, err := find(noise); err != nil && s != (state{}) {
			t.Errorf("an error with %+v", s)
		} else if err == nil && (s.battery > 100 || s.cliffs > 4) {
			t.Errorf("%+v", s)
		}
		whole := append(noise, frame(wheels)...)
		if _, err := find(whole); err != nil {
			t.Errorf("the frame behind %x is not found", noise)
		}
		whole[len(whole)-1]++
		if len(noise) == 0 {
			if s, err := find(whole); err == nil {
				t.Errorf("a wrong checksum is taken: %+v", s)
			}
		}
	})
}
