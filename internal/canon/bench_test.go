package canon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

// record is what a typical result consists of.
type record struct {
	ID      int64             `json:"id"`
	Name    string            `json:"name"`
	Tags    []string          `json:"tags,omitempty"`
	Score   float64           `json:"score"`
	Meta    map[string]string `json:"meta"`
	Parent  *record           `json:"parent,omitempty"`
	Comment string            `json:"comment"`
}

// records returns n of them: 1,000 take about 240 KB.
func records(n int) []record {
	out := make([]record, 0, n)
	for i := range n {
		out = append(out, record{
			ID: int64(i), Name: fmt.Sprintf("record %d", i), Tags: []string{"a", "bb", "ccc"}, Score: float64(i) / 7,
			Meta:    map[string]string{"host": "db-1", "zone": "eu", "kind": "<row>"},
			Comment: "A comment of some length, with \"quotes\", a line\nbreak and caf\u00e9.",
		})
	}
	return out
}

// benchJSON returns the records as raw JSON and as decoded values.
func benchJSON(b *testing.B, n int) ([]byte, any) {
	b.Helper()
	raw, err := json.Marshal(records(n))
	if err != nil {
		b.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		b.Fatal(err)
	}
	return raw, v
}

func BenchmarkMarshal(b *testing.B) {
	_, decoded := benchJSON(b, 1000)
	for _, tt := range []struct {
		name string
		v    any
	}{{"structs", records(1000)}, {"decoded", decoded}, {"one", records(1)[0]}, {"string", "a string of a few words"}} {
		for _, side := range []struct {
			name    string
			marshal func(any) ([]byte, error)
		}{{"canon", Marshal}, {"encoding-json", json.Marshal}} {
			b.Run(tt.name+"/"+side.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					out, err := side.marshal(tt.v)
					if err != nil {
						b.Fatal(err)
					}
					b.SetBytes(int64(len(out)))
				}
			})
		}
	}
}

func BenchmarkRaw(b *testing.B) {
	raw, _ := benchJSON(b, 1000)
	var indented bytes.Buffer
	if err := json.Indent(&indented, raw, "", "  "); err != nil {
		b.Fatal(err)
	}
	lone := bytes.Replace(raw, []byte("comment of"), []byte(`comment \ud83d of`), 1)
	for _, tt := range []struct {
		name string
		raw  []byte
		do   func(raw []byte)
	}{
		{"Valid", raw, func(raw []byte) { Valid(raw) }},
		{"Valid/encoding-json", raw, func(raw []byte) { json.Valid(raw) }},
		{"Compact", indented.Bytes(), func(raw []byte) { Compact(raw) }},
		{"Compact/encoding-json", indented.Bytes(), func(raw []byte) { _ = json.Compact(&bytes.Buffer{}, raw) }},
		{"CleanJSON/clean", raw, func(raw []byte) { CleanJSON(raw) }},
		{"CleanJSON/lone", lone, func(raw []byte) { CleanJSON(raw) }},
		{"Synopsis", raw, func(raw []byte) { Synopsis(raw, 20) }},
		{"Canonical", raw, func(raw []byte) { _, _ = Canonical(raw) }},
		{"Equal", raw, func(raw []byte) { Equal(raw, raw) }},
		{"Unmarshal/encoding-json", raw, func(raw []byte) {
			var v any
			_ = json.Unmarshal(raw, &v)
		}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			b.SetBytes(int64(len(tt.raw)))
			b.ReportAllocs()
			for b.Loop() {
				tt.do(tt.raw)
			}
		})
	}
}
