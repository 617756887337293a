package thread_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// fill sets a value and everything in it. Each call has another number, so that two fields that
// change places differ.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(string(rune('a'+*n%26)) + "-é-" + time.Duration(*n).String())
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n) << 20)
	case reflect.Uint64:
		v.SetUint(1<<63 + uint64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) / 8)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf("meta"))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(int64(*n), int64(*n)).In(time.FixedZone("", -3600**n/7))))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	}
}

func checkPacked(t *testing.T, e thread.Envelope) {
	t.Helper()
	if diff := cmp.Diff(e, thread.Pack(&e).Envelope(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("packed and unpacked (-was +is):\n%s", diff)
	}
}

func TestPackedEnvelopeHasEveryField(t *testing.T) {
	var e thread.Envelope
	n := 0
	fill(reflect.ValueOf(&e).Elem(), &n)
	checkPacked(t, e)
	for i := range e.Needs.Requires {
		e.Needs.Requires[i].Meta = nil
	}
	e.Needs.Location = &mess.TargetArea{Name: "kitchen"}
	checkPacked(t, e)
	for i := range reflect.TypeFor[thread.Envelope]().NumField() { // each field alone
		var one thread.Envelope
		reflect.ValueOf(&one).Elem().Field(i).Set(reflect.ValueOf(e).Field(i))
		checkPacked(t, one)
	}
	checkPacked(t, thread.Envelope{})
	if got := (thread.Packed{}).Envelope(); !cmp.Equal(got, thread.Envelope{}) {
		t.Errorf("the zero value has %+v", got)
	}
}

func TestPackedEnvelopeKeepsMoments(t *testing.T) {
	now := time.Now()
	for _, at := range []time.Time{
		now, now.UTC(), time.Unix(0, 0), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC),
		now.In(time.FixedZone("", 5*3600+1800)), now.In(time.FixedZone("x", 0)), now.In(time.FixedZone("", -11*3600)),
	} {
		e := thread.Envelope{Ref: "r", Created: at, Updated: at.UTC(), Expires: at.Add(time.Nanosecond), NotBefore: at}
		checkPacked(t, e)
		got := thread.Pack(&e).Envelope()
		if was, is := at.Format(time.RFC3339Nano), got.Created.Format(time.RFC3339Nano); was != is {
			t.Errorf("%s is %s after it was packed", was, is)
		}
	}
}

// Later changes of the lists of an envelope do not reach its packed form.
func TestPackedEnvelopeSharesNothing(t *testing.T) {
	e := thread.Envelope{Ref: "r", History: []thread.HistoryEntry{{Action: "created"}}}
	p := thread.Pack(&e)
	e.History[0].Action = "x"
	first := p.Envelope()
	first.History[0].Action = "y"
	if got := p.Envelope().History[0].Action; got != "created" {
		t.Errorf("the packed envelope has %q", got)
	}
}

// The text is an envelope in JSON, as stores have it.
func FuzzPacked(f *testing.F) {
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"Ref":"2026-02-01-001","Created":"2026-02-01T10:00:00.5-08:00","Expires":"0001-01-01T00:00:00Z","Estimate":-1,"Attempts":-3,"Confirm":{"Given":false},"Needs":{"requires":["a"],"request":{"requires":[{"a":{"b":1}}],"constraints":{"location":{"lat":1}}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var e thread.Envelope
		if json.Unmarshal(text, &e) == nil {
			checkPacked(t, e)
		}
	})
}
