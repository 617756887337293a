package onewire

import "testing"

func FuzzParse(f *testing.F) {
	f.Add("72 01 4b 46 7f ff 0e 10 57 : crc=57 YES\n72 01 4b 46 7f ff 0e 10 57 t=23125\n")
	f.Add("50 05 4b 46 7f ff 0c 10 1c : crc=1c YES\n")
	f.Add("00 00 00 00 00 00 00 00 00 : crc=00 YES\n")
	f.Add(" \n")
	f.Fuzz(func(t *testing.T, text string) {
		milli, err := parse(text)
		if err != nil && milli != 0 || milli < -55000 || milli > 125000 {
			t.Errorf("parse(%q) = %d, %v", text, milli, err)
		}
	})
}
