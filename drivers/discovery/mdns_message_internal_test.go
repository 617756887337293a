package discovery

import "testing"

func FuzzParse(f *testing.F) {
	f.Add([]byte("\x00\x00\x84\x00\x00\x00\x00\x01\x00\x00\x00\x00\x01a\x00\x00\x0c\x00\x01\x00\x00\x00\x78\x00\x02\xc0\x0c"))
	f.Add([]byte("\x00\x00\x84\x00\x00\x00\x00\x01\x00\x00\x00\x00\xc0\x0c\x00\x10\x00\x01\x00\x00\x00\x78\x00\x00"))
	f.Add(append(question([]string{"_a._tcp"}), 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parse(data)
		if err != nil && list != nil {
			t.Errorf("%+v beside %v", list, err)
		}
		for _, r := range list {
			if len(r.name) > maxName || r.kind == 0 || (r.kind == typeA) != (r.addr.IsValid() && r.addr.Is4()) {
				t.Errorf("%+v", r)
			}
		}
		instances(list, []string{"a"})
	})
}
