package locale

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNumber(t *testing.T) {
	t.Parallel()
	plain := Options{Style: "decimal", Notation: "standard", Grouping: "auto", MinFraction: 0, MaxFraction: 3, MinSignificant: -1, MaxSignificant: -1}
	with := func(change func(*Options)) Options { o := plain; change(&o); return o }
	for _, tt := range []struct {
		numeral string
		o       Options
		want    string
	}{
		{"1234567.8915", plain, "1,234,567.892"},
		{"1e+21", plain, "1,000,000,000,000,000,000,000"},
		{"-0", plain, "-0"},
		{"1.5e-7", plain, "0"},
		{"2.5", with(func(o *Options) { o.MaxFraction = 0 }), "3"},
		{"1.005", with(func(o *Options) { o.MaxFraction = 2 }), "1.01"},
		{"999.9996", plain, "1,000"},
		{"0.00012345", with(func(o *Options) { o.MinSignificant, o.MaxSignificant = 1, 2 }), "0.00012"},
		{"5", with(func(o *Options) { o.Style, o.Currency, o.MinFraction, o.MaxFraction = "currency", "XYZ", 2, 2 }), "XYZ\u00a05.00"},
		{"0.999", with(func(o *Options) { o.Style, o.MaxFraction = "percent", 0 }), "100%"},
		{"999999", with(func(o *Options) { o.Notation, o.MinFraction, o.MaxFraction = "compact", -1, -1 }), "1M"},
		{"NaN", plain, "NaN"},
		{"-Infinity", plain, "-∞"},
	} {
		got, err := Number(tt.numeral, tt.o)
		if err != nil {
			t.Errorf("%s: %v", tt.numeral, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.numeral, diff)
		}
	}
}

func TestZone(t *testing.T) {
	t.Parallel()
	at := int64(1720191849000) // 2024-07-05T15:04:09Z
	for zone, want := range map[string]Clock{
		"":                 {2024, 7, 5, 15, 4, 9, 0, 5, 0, "UTC"},
		"America/New_York": {2024, 7, 5, 11, 4, 9, 0, 5, -14400, "EDT"},
		"Asia/Kolkata":     {2024, 7, 5, 20, 34, 9, 0, 5, 19800, "GMT+5:30"},
	} {
		got, err := At(at, zone)
		if err != nil {
			t.Errorf("%q: %v", zone, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", zone, diff)
		}
	}
	for _, zone := range []string{"Mars/Base", "../etc/passwd", "Local", "local"} {
		if _, err := At(at, zone); err == nil {
			t.Errorf("%q is taken", zone)
		}
	}
}

func TestCollator(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		c    Collation
		a, b string
		want int
	}{
		{Collation{}, "a", "B", -1},
		{Collation{}, "a", "A", -1},
		{Collation{Numeric: true}, "x10", "x9", 1},
		{Collation{}, "x10", "x9", -1},
		{Collation{Sensitivity: "base"}, "É", "e", 0},
		{Collation{Sensitivity: "accent"}, "É", "é", 0},
		{Collation{Sensitivity: "accent"}, "É", "e", 1},
	} {
		if got := Collator(tt.c)(tt.a, tt.b); got != tt.want {
			t.Errorf("%+v %q %q: %d, want %d", tt.c, tt.a, tt.b, got, tt.want)
		}
	}
}
