package lexicon

import (
	"maps"
	"reflect"
)

// MergeLists copies the fields of a later file into mine. A list replaces the earlier list of the
// same name. The entries of a map replace those with the same key. An empty field changes
// nothing.
func MergeLists[T any](mine *T, later T) {
	to, from := reflect.ValueOf(mine).Elem(), reflect.ValueOf(later)
	for i := range to.NumField() {
		if one := from.Field(i); !one.IsZero() {
			if one.Kind() == reflect.Map {
				one = mergedMap(to.Field(i), one)
			}
			to.Field(i).Set(one)
		}
	}
}

// mergedMap returns a map with the entries of both maps. Those of b win.
func mergedMap(a, b reflect.Value) reflect.Value {
	sum := reflect.MakeMap(b.Type())
	for _, m := range []reflect.Value{a, b} {
		for key, value := range m.Seq2() {
			sum.SetMapIndex(key, value)
		}
	}
	return sum
}

// CompileSets makes the phrase sets of the struct that into points to. The words of a set come
// from the field of the same name in the struct that lists points to: from a list, or from the
// keys of a map. Fields without a namesake stay as they are.
func CompileSets(w *Lexicon, lists, into any) {
	from, to := reflect.ValueOf(lists).Elem(), reflect.ValueOf(into).Elem()
	for i := range to.NumField() {
		if to.Type().Field(i).Type != reflect.TypeFor[*PhraseSet]() {
			continue
		}
		var list []string
		if one := from.FieldByName(to.Type().Field(i).Name); one.Kind() == reflect.Map {
			for key := range one.Seq() {
				list = append(list, key.String())
			}
		} else {
			list = one.Interface().([]string)
		}
		to.Field(i).Set(reflect.ValueOf(w.Set(list)))
	}
}

// Merged returns a map with the entries of both maps. Those of b win.
func Merged[V any](a, b map[string]V) map[string]V {
	a = maps.Clone(a)
	if a == nil {
		a = map[string]V{}
	}
	maps.Copy(a, b)
	return a
}
