package receipt_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/messkit/messkit/mess/receipt"
)

// The numbers of RFC 8785 appendix B, as IEEE 754 bits.
var numbers = map[uint64]string{
	0x0000000000000000: "0",
	0x8000000000000000: "0",
	0x0000000000000001: "5e-324",
	0x8000000000000001: "-5e-324",
	0x7fefffffffffffff: "1.7976931348623157e+308",
	0x4340000000000000: "9007199254740992",
	0xc340000000000000: "-9007199254740992",
	0x4430000000000000: "295147905179352830000",
	0x44b52d02c7e14af5: "9.999999999999997e+22",
	0x44b52d02c7e14af6: "1e+23",
	0x44b52d02c7e14af7: "1.0000000000000001e+23",
	0x444b1ae4d6e2ef4e: "999999999999999700000",
	0x444b1ae4d6e2ef50: "1e+21",
	0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7",
	0x3eb0c6f7a0b5ed8d: "0.000001",
	0x41b3de4355555553: "333333333.3333332",
	0x41b3de4355555557: "333333333.33333343",
	0xbecbf647612f3696: "-0.0000033333333333333333",
	0x43143ff3c1cb0959: "1424953923781206.2",
}

func TestCanonicalNumbers(t *testing.T) {
	for bits, want := range numbers {
		in := fmt.Sprintf("%.17e", math.Float64frombits(bits))
		got, err := receipt.Canonical([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("Canonical(%s) = %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{
			"RFC 8785 section 3.2.2",
			`{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
			  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		{
			"RFC 8785 section 3.2.3",
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
		{"no escape that is not needed", `"</a>& \u2028 \u007f"`, "\"</a>& \u2028 \u007f\""},
		{"nothing in it", ` { "a" : [ ] , "b" : { } } `, `{"a":[],"b":{}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := receipt.Canonical([]byte(c.in))
			if err != nil || string(got) != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestCanonicalRejectsInvalidJSON(t *testing.T) {
	for _, in := range []string{"", "{", `{"a":1,"a":1}`, "1e999", "\"\xff\"", "1 2", "[1]]", `{"a"}`, deep(200)} {
		if got, err := receipt.Canonical([]byte(in)); err == nil || got != nil {
			t.Errorf("Canonical(%.40q) = %q, %v; want nothing and an error", in, got, err)
		}
	}
}

func deep(n int) string {
	var v any = 1
	for range n {
		v = []any{v}
	}
	data, _ := json.Marshal(v)
	return string(data)
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[null,true,"\u20ac\ud800"]}`, "-0.0", "1e-7", deep(130), `{"a":{"a":1e400}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		form, err := receipt.Canonical(data)
		if err != nil {
			if form != nil {
				t.Fatalf("error and a form %q", form)
			}
			return
		}
		again, err := receipt.Canonical(form)
		if err != nil || string(again) != string(form) {
			t.Fatalf("%q again is %q, %v", form, again, err)
		}
		other, err := canonicalByOther(data)
		if err != nil || other != string(form) {
			t.Fatalf("%q is %q here, and %q, %v elsewhere", data, form, other, err)
		}
	})
}
