package object_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane/internal/object"
)

func TestReadAndWrite(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{}`:                                     `{}`,
		` {"z" : 1.50, "a":[ 1 ],"z":"\u00e9"} `: `{"z":1.50,"a":[ 1 ],"z":"\u00e9"}`,
		`{"<&>":{"b":1,"a":2}}`:                  `{"<&>":{"b":1,"a":2}}`,
	} {
		all, err := object.Read([]byte(raw))
		if err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		if diff := cmp.Diff(want, string(object.Write(all))); diff != "" {
			t.Error(diff)
		}
	}
	for raw, want := range map[string]string{``: "it is no object", `[1]`: "it is no object", `{"a":`: "it breaks off", `{"a":1} x`: "something follows it"} {
		if _, err := object.Read([]byte(raw)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", raw, err, want)
		}
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	all := []object.Member{object.Text("a", `q"`), object.Of("b", []byte("2")), object.Of("a", object.List([][]byte{[]byte("1"), []byte("2")}))}
	if got := string(object.Find(all, "a")); got != "[1,2]" || object.Find(all, "x") != nil {
		t.Errorf("found %s", got)
	}
	if diff := cmp.Diff([]string{"b"}, object.Keys(object.Without(all, "a", "x"))); diff != "" {
		t.Error(diff)
	}
	if got := string(object.Write(all)); got != `{"a":"q\"","b":2,"a":[1,2]}` {
		t.Error(got)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"a":1,"a":{"b":[true]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, err := object.Read(raw)
		if err != nil {
			return
		}
		again, err := object.Read(object.Write(all))
		if err != nil || len(again) != len(all) {
			t.Fatalf("%q: %d members become %d, %v", raw, len(all), len(again), err)
		}
		if diff := cmp.Diff(all, again); diff != "" {
			t.Error(diff)
		}
	})
}
