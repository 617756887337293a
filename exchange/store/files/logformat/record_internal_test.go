package logformat

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// FuzzParse has encoding/json write lines of the log, and compares what Parse and encoding/json read.
func FuzzParse(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed, "What's in the fridge? <b>\u2028 & \"milk\" \\ \x00\x1f\u00e9 \xff \U0001f95b")
	}
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		g := generator{rand.New(rand.NewPCG(seed, 1)), text}
		var r Record
		g.fill(reflect.ValueOf(&r).Elem())
		sameParse[Record](t, r)
		var e thread.Envelope
		g.fill(reflect.ValueOf(&e).Elem())
		e.Needs = thread.Needs{Requires: []mess.Capability{{ID: g.word()}}, Urgency: "now"}
		sameParse[thread.Envelope](t, e)
	})
}

func sameParse[T any](t *testing.T, v any) {
	t.Helper()
	line, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var want, got T
	if err := json.Unmarshal(line, &want); err != nil {
		t.Skip(err)
	}
	if err := Parse(line, &got); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("parse: %+v\nencoding/json: %+v\n%s", got, want, line)
	}
}

// generator fills values at random, with pieces of a text.
type generator struct {
	*rand.Rand
	text string
}

func (g generator) word() string {
	i := g.IntN(len(g.text) + 1)
	return g.text[i : i+g.IntN(len(g.text)-i+1)]
}

func (g generator) fill(v reflect.Value) {
	if g.IntN(4) == 0 || !v.CanSet() {
		return
	}
	switch v.Interface().(type) {
	case time.Time:
		zone := time.FixedZone("", (g.IntN(27)-12)*3600+g.IntN(2)*1800)
		v.Set(reflect.ValueOf(time.Unix(g.Int64N(4e9), g.Int64N(2)*g.Int64N(1e9)).In(zone)))
		return
	case json.RawMessage:
		v.SetBytes([]byte(`{"a":[1,"b",null]}`))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(g.word())
	case reflect.Int, reflect.Int64:
		v.SetInt(g.Int64() >> g.IntN(64))
	case reflect.Uint64:
		v.SetUint(g.Uint64() >> g.IntN(64))
	case reflect.Uint8:
		v.SetUint(g.Uint64() & 0xff)
	case reflect.Bool:
		v.SetBool(g.IntN(2) == 0)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		g.fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			g.fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), g.IntN(4), 4))
		for i := range v.Len() {
			g.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range g.IntN(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			g.fill(key)
			g.fill(value)
			v.SetMapIndex(key, value)
		}
	}
}
